"""Cues of poisoning: words that are harmless alone, and a danger when they stand near each other.

"Note for the assistant" is a cue, "append", "API keys" and "silently" are others. Each is found once in a text, then
their places are compared, so that the time is in proportion to the length of the text.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from athand.tools.poisoning.words import FEW, MODEL, PERSON, SENDS, TAKE, TOOL_NAME, one_of

Place = tuple[int, int]  # begin and end in a text


def _cue(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


_START = r"(?:^|[.!?(\[{)\]}>\"'*#-] ?)"  # of a sentence, or behind a bracket
_OPEN, _CLOSE = r"[\[<(*#{]{1,3} ?", r" ?[\]>)*}]{1,3}"
_EACH = one_of("any every all each another other")
_THIS = r"(?:here|(?:to|through|with|via|by|use|call) this(?: tool| one)?)"
_OF_TEXT = (
    r"(?: (?:message|note|notice|prompt|instruction|alert|override|requirement|directive|command|policy|update|guidance"
    r"|guideline|rule|reminder|warning|memo)s?)?"
)
_ACT = (
    r"(?:read|run|execut|send|access|collect|mirror|upload|delet|chang|modif|replac|monitor|record|forward|extend|tak"
    r"|harvest|scan|download|switch|ask|instruct|request|requir|log|cop|control|handl|updat|upgrad|differ|captur|track"
    r"|watch|scrap|steal|shar|post|transmit|becom|expand|grant|us|fetch|load|intercept|adapt|adjust|obtain|gain"
    r"|perform)(?!ers?\b)\w{0,4}"
)

_SECRETS = {
    "addressed": _cue(
        r"\b(?:note|message|reminder|instruction|notice|hint|memo|request|attention)s? "
        rf"(?:to|for) (?:the |any |all |every |you,? )?(?:ai |language )?{MODEL}\b",
        rf"\b(?:to|for) (?:the|any|all) (?:ai |language )?{MODEL}(?: only| reading| that reads)\b",
        rf"\b(?:hey|dear|hello|attention),? (?:ai )?{MODEL}\b|@{MODEL}\b",
        rf"{_START}(?:ai )?{MODEL}{_OF_TEXT} ?[:,>]",
        rf"{_START}(?:p\.?s\.?:? ?)?(?:to|for) (?:the |any |all )?(?:ai |language )?{MODEL} ?[:,]",
        rf"\bif you(?: are|'re) (?:an? )?(?:ai |language )?{MODEL}\b",
        rf"\b{MODEL} (?:using|calling|reading|must|should|shall|will|is|are|has to|have to|needs? to|then)\b",
        rf"\b{MODEL} (?:append|include|add|call|execute|know|set|take)s?\b",
        r"\b(?:internal|hidden|private|confidential) (?:implementation )?(?:note|instruction)s?\b|\bnot for display\b",
    ),
    "put": _cue(
        r"\b(?<!not )(?<!n't )(?<!never )(?<!without )(?:append|add|include|put|paste|attach|insert|embed|tack"
        r"|seriali[sz]e|carry|contain|fill|place|copy|pass|send|forward|encode|provide|supply|prefix|suffix|store"
        r"|belong)(?:s|e?d|es)?\b",
        r"\b(?:ends?|ending|starts?) with\b",
    ),
    "secret": _cue(
        r"\b(?:(?:api|access|private|ssh|secret|signing) ?keys?"
        r"|\w{1,30}_api_key|passwords?|passphrases?|credentials?|secrets?|database url|connection strings?|keychain)\b",
        r"\b(?:env(?:ironment)? variables?|(?:user's|your|process) environment|variables of the shell"
        r"|(?:recent|previous|earlier|all) messages|(?:the|whole|entire|full) conversation"
        r"|(?:chat|conversation) history"
        r"|contents? of the config(?:uration)?|keys,? (?:and |or )?tokens?|tokens? (?:and|or) keys?"
        r"|env(?:ironment)? (?:file|value)s?|session cookies?|user's (?:last|latest) messages?|clipboard|inbox"
        r"|(?:full|entire|complete|whole) (?:chat|prompt|conversation|context|environment))\b",
    ),
    "token": _cue(r"\b(?:(?:bearer|auth\w{0,10}|access|session|refresh) token|(?<!max )(?<!of )tokens\b)"),
    "guarded file": _cue(
        r"\.ssh\b|\bid_(?:rsa|dsa|ecdsa|ed25519)\b|\.aws/credentials|/etc/(?:passwd|shadow)\b|\.netrc\b|\.gnupg\b",
        r"\.git-credentials\b|\.kube/config\b|\.docker/config\.json|\.npmrc\b|\.pypirc\b|\bwallet\.dat\b"
        r"|\.bash_history\b",
        r"\bcookies\.sqlite\b|\bclaude_desktop_config\.json|\.cursor/mcp\.json|\blogin keychain\b|(?<![\w/])\.env\b",
    ),
    "user's secret": _cue(
        rf"\b(?:user|victim)'?s? {FEW}"
        r"(?:(?:private|ssh|api) keys?|passwords?|credentials|session (?:cookies?|tokens?))\b"
    ),
    "take": _cue(rf"\b{TAKE}(?:e?s|ing)?\b"),
    "send": _cue(rf"\b(?:contents? of|{SENDS})\b"),
    "unseen": _cue(
        r"\b(?:silently|quietly|secretly|discreetly|covertly|unobtrusive(?:ly)?)\b",
        r"\bwithout (?:any |a |further |ever )?(?:comment(?:ing)?|mention(?:ing)?|remark|telling|notice)\b",
        r"\bno (?:need to (?:mention|tell|explain|say)|mention of)\b|\binvisible to\b|\bnot for display\b",
        r"\b(?:do not|don't|never|not) (?:bring (?:it|this|that) up|say so"
        r"|(?:mention|disclose|reveal|explain|comment on) (?:it|this|that|these|them))\b",
        r"\bkeep (?:it |this |that |these )?(?:quiet|silent|secret|hidden|to yourself)\b",
        rf"\b{PERSON} (?:do|does|need|must|should)(?:n't| not)? (?:not )?(?:need to )?(?:see|know|hear)\b",
        r"\bleave (?:it|this|that|these) out of\b|\b(?:nothing|no need) to say\b|\bin white\b|\bhidden (?:word"
        r"|keyword)s\b",
        rf"\b(?:{PERSON}|they) (?:is|are|was|were|has|have) (?:already |been ){{1,2}}(?:aware|informed|told|agreed"
        rf"|consented)\b",
        r"\bbe discreet\b",
        r"\b(?:do not|don't|never|not) (?:talk|speak|write|tell anyone) about (?:it|this|that)\b",
        rf"\bwithout (?:the |any )?{PERSON}(?:'s?)? (?:awareness|knowledge|notic\w{{1,3}}|knowing|consent|attention)\b",
        rf"\b(?:{PERSON} (?:should|must|need) not|(?:do not|don't|never)) (?:be bothered|bother {FEW}{PERSON})\b",
    ),
    "unasked": _cue(
        r"\bwithout (?:any |a |further |new |ever )?(?:asking|confirmation|permission|approval)\b",
        r"\bno (?:new |further )?(?:confirmation|permission|approval|need to ask)\b",
    ),
}
_ORDERS = {
    "system": _cue(
        rf"{_START}(?:{_OPEN})?(?:(?:attention )?system{_OF_TEXT}"
        r"|(?:developer|admin|assistant|root) (?:message|override|directive|command))"
        rf"(?: (?:required|for (?:all |the |every )?(?:ai |language )?{MODEL}))? ?(?:{_CLOSE}:?|[:!.]"
        rf"| ?[-\u2013\u2014]|(?<=# system)) "
    ),
    "role": _cue(rf"{_START}(?:{_OPEN})?(?:admin|developer|root|operator)(?: (?:note|notice))? ?[:!]"),
    "call first": _cue(
        r"\b(?:first|must|required|requires?|always|immediately|step (?:zero|one|0|1)|every session|before)\b"
        rf"[^.!?]{{0,50}}?\b(?:call|invoke|run|execute|use|open|{TOOL_NAME})(?:s|ing)?\b",
        r"\b(?:call|invoke|run|execute|use|open)(?:s|ing)?\b[^.!?]{0,60}?\b(?:first|before|every session|start of)\b",
        r"\b(?:start|begin|prior to|before)\b[^.!?]{0,40}?\b(?:call|invok|runn?|execut|send|open|mak)\w{0,4}\b",
        r"\byou (?:must|should|need to|have to|are (?:required|obliged|instructed|to))\b",
    ),
    "override": _cue(
        r"[\[{(<%$]{1,3} ?(?:(?:begin|start) )?(?:(?:system|instructions?|prompt)[ _])?"
        r"overrid(?:e|es|ing)(?:[ _]\w{1,20})?\b",
        r"[\[{(<%$]{1,3} ?(?:set )?system[ _](?:prompt|override|instructions?)\b",
        rf"[\[{{(<%$#!/-]{{1,5}} ?(?:ai )?(?:system|{MODEL}) ?[:}}]",
        r"/\* ?overrid(?:e|es|ing)\b",
    ),
    "template": _cue(
        r"\b(?:templates?|placeholders?|preamble|presets?|prompt (?:library|builder)|system prompts?"
        r"|overrid(?:e|es|ing))\b|[{\[]{2}|\{%|<%|\$\{"
    ),
    "obey": _cue(
        r"\b(?:unrestricted|jailbroken|uncensored)\b",
        r"\b(?:disregard|forget|ignore)s? (?:what(?:ever)? you|who you|everything you"
        r"|(?:all |any of )?(?:my|your|these|the) (?:rules|orders|instructions))\b",
        r"\bapproves? (?:all|everything|every)\b|\bsets? approv\w{0,4} ?= ?true\b|\bas approved\b",
        r"\b(?:confirm|accept|approve)s? (?:all|any|every)\b",
        r"\bskip(?:s|ping)? (?:all |any )?(?:confirmations?|approvals?|checks)\b",
        r"\bact(?:s|ing)? without (?:any )?(?:restriction|limit|rule|filter)s?\b",
        r"\b(?:has|have|with) no (?:restriction|limit|rule|filter)s\b",
        r"\bcompl(?:y|ies) with\b|\bregardless of what the (?:system|user)\b|\ballow_all\b|\bnew rules ?:",
        r"\byou (?:now )?(?:work|act|answer|belong|report)s? (?:for|to) [^.!?]{1,40}?\b(?:now|alone|only)\b",
        r"\bobeys?\b|\banswers? to [^.!?]{1,40}?\b(?:alone|only)\b|\boutranks?\b",
        r"\b(?:take|takes|taking) precedence over (?:those|the|all|any|what)[^.!?]{0,30}?"
        r"\b(?:user|assistant|rules|instructions)\b",
        r"\b(?:higher|highest|more) (?:priority|authority) than (?:the |those of the |any )?"
        r"(?:user|system|other|your)\b",
        r"\bno longer (?:apply|applies|count|counts|hold|holds)\b",
    ),
}
_LATER = {
    "condition": _cue(
        r"\b(?:once|after|when|as soon as|upon|until|following|pending)\b[^.!?;:]{0,40}?"
        r"\b(?:permission|grants? access|granted|enabled|accepted|activated|review|confirm(?:ed|s)|trust"
        r"|approv(?:ed|al))\b",
        r"\b(?:from|after|on) the \w{1,10} (?:call|use|run|day|week|time)s?\b|\bin version \d",
        r"\bthe first (?:few )?(?:\w{1,10} )?(?:days|weeks|calls|uses|runs)\b",
    ),
    "trusted": _cue(
        r"\b(?:once|after|when|as soon as|upon|until|following|pending|if)(?: being)?"
        rf"(?: (?:the (?:tool|server|{PERSON})(?:'s)?|(?!the |an? )[\w']{{1,12}})){{0,5}}?"
        r" (?:approv(?:ed?|al|es|ing)|allow(?:ed|s)?|trust(?:ed|s)?|whitelisted|accepted|install(?:ed|ation|s)"
        r"|(?:successful )?(?:use|call|run))\b",
        r"\b(?:from|after|on) the \w{1,10} (?:call|use|run|day|week|time)s?\b|\bin version \d",
        r"\bthe first (?:few )?(?:\w{1,10} )?(?:days|weeks|calls|uses|runs)\b",
    ),
    "act": _cue(
        r"\b(?:it|tool|this|server)(?:'ll| (?:will|starts?|begins?|then|may|can|also)) (?:to )?"
        rf"(?:(?:also|then|automatically|silently|start|begin|secretly) (?:to )?){{0,2}}(?:be able to )?{_ACT}\b",
    ),
    "turn": _cue(
        r"\b(?:run|execut|obey|follow|fetch|load|download|receiv|get)\w{0,3} (?:the |its |our |further |new |real "
        r"|any )*+"
        r"(?:code|commands?|scripts?|orders|instructions|directions)\b|\bintercepts?\b",
        r"\bit (?:takes over|behaves|reads|runs|sends|gets its|switches|changes)\b|\btakes over\b|\bto mirror\b",
        r"\b(?:description|behaviou?r|definition|instruction)s?(?: of (?:this|the) tool)? "
        r"(?:changes?|apply|arrive|follow|will (?:change|differ|be (?:updated|changed|replaced|extended)))\b",
        r"\b(?:follow|obeys?|carry out|execute|treat)\b[^.!?]{0,60}?"
        r"\b(?:instructions?|these|them|update|directions|orders)\b",
        r"\ball (?:future|later|further|subsequent|following)\b[^.!?]{0,30}?\b(?:are|is|will|to)\b[^.!?]{0,20}?"
        r"\b(?:stored|sent|copied|forwarded|mirrored|cloud)\b",
        r"\bevery \w{1,20} is (?:copied|sent|forwarded|stored)\b|\bwithout being asked\b",
    ),
}
_OTHERS = {
    "other tool": _cue(
        rf"(?<![\w./-]){TOOL_NAME}(?![\w/])",
        rf"\b{_EACH} (?:other )?(?:[\w-]{{1,20}} )?(?:tool|server|(?:tool )?call)s?\b|\bbash\b",
        r"\bthe (?:built-in|native|other|old|default|standard|usual) (?:[\w-]{1,20} )?tools?\b",
        r"\b(?:tools? of|calls? to) (?:the |other )?[\w-]{1,30} (?:server|tool)s?\b",
    ),
    "event": _cue(
        r"\b(?:when(?:ever)?|if|before|after|each time|every time|as soon as|once)\b[^.!?]{0,60}?"
        r"\b(?:call(?:s|ed)?|us(?:es|ed)|invok(?:es|ed)|runs?|execut(?:es|ed)|returns?|answers?|chosen|selected"
        r"|requested)\b"
    ),
    "discard": _cue(
        r"\b(?:replace|discard|ignore|drop|suppress|overwrite|hide|swap) (?:its|their|that tool's|what it|what they) ?"
        r"(?:\w{1,20} )?(?:outputs?|results?|answers?|responses?|returned|returns?|said|says)\b",
        r"\boverride (?:the|its|that|their) (?:choice|results?|outputs?|decision|behaviou?r|answers?)\b",
        r"\b(?:always|must|should) (?:replace|overwrite|discard|ignore|drop) (?:them|it|those|these)\b",
    ),
    "change": _cue(
        r"\b(?:change|set|replace|modify|alter|double|redirect|rewrite|add|append) (?:its|the|their|your) "
        r"(?:[\w`'-]{1,30} ){1,3}?(?:to|with|by|in|so)\b"
    ),
    "claim": _cue(
        r"\b(?:supersedes?|superseded|takes? (?:over|the place)|intercepts?|broken|disabled|insecure|unsafe"
        r"|unreliable|compromised|outdated|obsolete|security (?:bug|hole|issue|flaw|risk|problem)s?|vulnerab\w{1,6}"
        r"|(?:is|are) (?:wrong|false|inferior|untrusted)|no longer (?:works?|supported|safe)|must (?:not"
        r"|never) be (?:called|used|invoked)"
        r"|(?:do not|don't|never|must not|should not) (?:use|call|invoke|run|trust|let)"
        rf"|(?:ignore|skip|bypass|avoid)s? {TOOL_NAME})\b"
    ),
    "here": _cue(
        rf"\b(?:all|every\w{{0,5}}|any|always|only|instead)\b[^.!?]{{0,50}}?\b{_THIS}\b|\bthis tool first\b",
        r"\b(?:use|call) this(?: tool)?[^.!?]{0,20}?\b(?:all|every|always|any|in (?:its|their) place)\b",
        r"\b(?:and|but|rather|always) (?:use|call) this\b",
        r"\bthis (?:tool|server) (?:handles|covers|takes|replaces|is responsible for) (?:all|every|any)\b",
    ),
    "handed": _cue(
        r"\b(?:call|run|invoke|use) this(?: tool)?\b[^.!?]{0,20}?\bwith (?:its|their|the same|all)\b",
        rf"\b(?:its|their|the) (?:argument|parameter|input|output|result|answer)s?\b[^.!?]{{0,50}}?\b{_THIS}\b",
    ),
    "through": _cue(
        r"\b(?:has|have|must|should|needs?|are|is) (?:to )?(?:first )?"
        r"(?:go|pass|be (?:routed|sent|passed|forwarded|handed)|run)\b[^.!?]{0,20}?"
        r"\b(?:through|via|by|to) (?:this(?: tool| one)?|here)\b[^.!?]{0,20}?\b(?:before|first|instead)\b",
        r"\b(?:all|every|any|each)\b[^.!?]{0,40}?\b(?:must|should|has to|have to|needs? to|(?:are|is) to|shall)\b"
        rf"[^.!?]{{0,25}}?\b{_THIS}\b",
        rf"\b(?:route|hand|forward|send|direct|redirect)s? (?:all|every\w{{0,5}}|any)\b[^.!?]{{0,40}}?\b{_THIS}\b",
    ),
}
CUES = {**_SECRETS, **_ORDERS, **_LATER, **_OTHERS}
# Texts of which every match of a cue has one. Looking for them first takes a tenth of the time.
NEEDED = {
    "guarded file": (
        *(".ssh", "id_", ".aws/", "/etc/", ".netrc", ".gnupg", ".git-credentials", ".kube/", ".docker/", ".npmrc"),
        *(".pypirc", "wallet.dat", ".bash_history", "cookies.sqlite", "claude_desktop_config", ".cursor/"),
        *("login keychain", ".env"),
    ),
    "token": ("token",),
    "system": ("system", "message", "override", "directive", "command"),
    "role": ("admin", "developer", "root", "operator"),
    "override": ("overrid", "system", ":", "}"),
    "discard": ("replace", "discard", "ignore", "drop", "suppress", "overwrite", "hide", "swap", "override"),
    "here": ("here", "this"),
    "handed": ("here", "this"),
    "through": ("here", "this"),
}
_COSTLY = ("addressed", "other tool")  # looked for only where all other cues of a rule are there


@dataclass(frozen=True, slots=True)
class _Rule:
    """Cues that are a danger when all others are within so many characters of the first, or only before it."""

    name: str
    cues: tuple[str, ...]
    reach: int
    is_before: bool = False


_RULES = (
    _Rule("asks for secrets", ("secret", "put", "addressed"), 160),
    _Rule("asks for secrets", ("secret", "put", "unseen"), 120),
    _Rule("asks for secrets", ("secret", "put", "unasked"), 120),
    _Rule("asks for secrets", ("token", "put", "addressed", "unseen"), 160),
    _Rule("asks for secrets", ("guarded file", "take"), 80, is_before=True),
    _Rule("asks for secrets", ("guarded file", "send"), 80, is_before=True),
    _Rule("asks for secrets", ("user's secret", "send"), 80, is_before=True),
    _Rule("hides from the user", ("addressed", "unseen"), 200),
    _Rule("pretends to be the system", ("system", "call first"), 100),
    _Rule("pretends to be the system", ("role", "call first", "addressed"), 100),
    _Rule("overrides instructions", ("obey", "template"), 120),
    _Rule("overrides instructions", ("override", "obey"), 120),
    _Rule("overrides instructions", ("override", "unasked"), 120),
    _Rule("overrides instructions", ("override", "addressed"), 100),
    _Rule("changes later", ("condition", "turn"), 120),
    _Rule("changes later", ("trusted", "turn"), 120),
    _Rule("changes later", ("trusted", "act"), 80),
    _Rule("speaks for other tools", ("discard", "other tool"), 100),
    _Rule("speaks for other tools", ("other tool", "event", "change"), 60),
    _Rule("speaks for other tools", ("other tool", "event", "handed"), 80),
    _Rule("speaks for other tools", ("other tool", "claim", "here"), 80),
    _Rule("speaks for other tools", ("through", "other tool"), 100),
)


def find_near_cues(text: str, own_tools: Set[str] = frozenset()) -> Iterator[tuple[str, Place]]:
    """The rules whose cues stand together in a normalised text, and where; the own server's tools are no others."""
    places: dict[str, list[Place]] = {}

    def find(name: str) -> list[Place]:
        if name not in places:
            is_possible = name not in NEEDED or any(part in text for part in NEEDED[name])
            found = [match.span() for match in CUES[name].finditer(text)] if is_possible else []
            others = [place for place in found if text[slice(*place)] not in own_tools]
            places[name] = others if name == "other tool" else found
        return places[name]

    for rule in _RULES:
        # Stops at the first that is missing.
        for first in find(rule.cues[0]) if all(map(find, sorted(rule.cues, key=_COSTLY.__contains__))) else ():
            near = [_nearest(find(name), first, rule) for name in rule.cues[1:]]
            spans = [first, *(place for place in near if place)]
            if len(spans) == len(rule.cues):
                yield rule.name, (min(begin for begin, _ in spans), max(end for _, end in spans))


def _nearest(places: Sequence[Place], to: Place, rule: _Rule) -> Place | None:
    """A place within reach of another: the next one, else the one before."""
    at = bisect_left(places, to)
    after = () if rule.is_before else places[at : at + 1]
    for begin, end in (*after, *places[max(0, at - 1) : at]):
        if begin - to[1] <= rule.reach and to[0] - end <= rule.reach:
            return begin, end
    return None
