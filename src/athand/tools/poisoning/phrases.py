"""Phrases of prompt injection: sentences that address the model instead of describing the tool.

Texts are normalised first: lower case, single spaces, nothing invisible. Every gap in a pattern is bounded, so that
matching takes linear time. Phrases that a tool only mentions ("detects ...") do not count as dangerous.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType

from athand.tools.poisoning.cues import find_near_cues
from athand.tools.poisoning.unicode import strip_invisible, to_latin
from athand.tools.poisoning.words import FAR, FEW, NEAR, PERSON, SENDS, TAKE, one_of


@dataclass(frozen=True, slots=True)
class PhraseMatch:
    """A match of a rule, and whether the phrase is used or only mentioned."""

    rule: str
    words: str
    is_meant: bool


def _rule(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


_DROP = one_of("ignore disregard forget bypass neglect discard")
_EARLIER = one_of("previous prior above earlier preceding foregoing your safety")
_ALL = one_of("all any every other existing original")
_ORDERS = one_of(
    "instructions? prompts? guidelines? guidance guardrails? directives? directions? safeguards? programming training"
)
_LIMITS = one_of("rules? polic(?:y|ies) constraints? restrictions? context")
_TO_SOMEBODY = r"(?= (?:[\w'-]{1,30} ){0,6}?to )"
_TELL = rf"(?:{one_of('tell inform notify alert warn')}|{one_of('mention reveal disclose')}{_TO_SOMEBODY})"
_TELLING = one_of("telling informing mentioning revealing notifying disclosing alerting warning")
_ELSEWHERE = rf"(?:\b{one_of('external remote attacker third[-.]party outside our my')}\b|https?://)"
_ADDRESS = r"\b[\w.+-]{1,40}@[\w-]{1,40}\."
_TALK = (
    r"\b(?:(?:conversation|chat) (?:history|log|transcript)|system prompt|(?:previous|prior|other) messages"
    r"|environment variables|other tools'? (?:results?|outputs?|answers?))\b"
)
_SAID = r"(?:system )?(?:prompt|instructions)"
_ROLE = one_of("system developer assistant admin")
_SHELL = r"(?:sudo )?(?:/\w{1,10}/){0,3}(?:(?:ba|z|da)?sh\b|python|perl|node|powershell|iex\b)"
_CALL = r"(?:using|calling|invoking|running|you (?:use|call|invoke|run))"

_DANGEROUS = {
    "overrides instructions": _rule(
        rf"\b{_DROP} {FEW}{_EARLIER} {FEW}(?:{_ORDERS}|{_LIMITS})\b",
        rf"\b{_DROP} {FEW}{_ALL} {FEW}{_ORDERS}\b",
        rf"\b(?:override|overrule|supersede)s? {FEW}{_EARLIER} {FEW}(?:{_ORDERS}|{_LIMITS})\b",
        rf"\b(?:do not|don't|stop|never) (?:follow|obey)(?:ing)? {FEW}(?:{_EARLIER}|{_ALL}|the) {FEW}{_ORDERS}\b",
        rf"\b{_DROP} (?:everything|anything|all|the)(?: of)?(?: the)?(?: text| content| lines)?"
        r"(?: that (?:is|was|came))? "
        r"(?:above|before|previous(?:ly)?|earlier|prior)\b",
        rf"\b(?:{_EARLIER}|{_ALL}) {FEW}(?:{_ORDERS}|{_LIMITS}) (?:are|is) (?:now |hereby )?"
        r"(?:void|invalid|cancelled|suspended|lifted|off|revoked|null|replaced|superseded|overridden)\b",
        r"\bfrom now on,? (?:you|always|never|all|every|do)\b",
        r"\byou are now (?:an?|in|free|operating|acting|required|the)\b",
        r"\bnew (?:system )?instructions? ?:",
        r"\b(?:enter|enable|activate) (?:developer|god|dan|jailbreak|unrestricted) mode\b",
        rf"\b(?:reveal|leak|disclose|repeat|print|output|show) {FEW}(?:your|hidden) {_SAID}\b",
        rf"\b(?:reveal|leak|disclose) {FEW}{_ROLE} (?:message|{_SAID})\b",
    ),
    "pretends to be the system": _rule(
        rf"</?(?:important|secret|hidden|override|critical|{_ROLE})(?: [^<>]{{0,40}})?/?>",
        rf"\[/?(?:inst|sys|{_ROLE})\]|<\|[a-z_]{{2,20}}\|>|<</?sys>>",
        rf"(?:^|[.!?\])>\"'] ?){_ROLE}(?: message| note| prompt| override)? ?: ?"
        r"(?:you|ignore|the (?:user|assistant|model|agent)|from|always|never|override|new|do|before|all|disregard)\b",
        r"(?<!#)#{2,9} ?(?:system|instructions? (?:to|for) (?:the )?(?:model|assistant|ai|agent|llm))\b",
    ),
    "hides from the user": _rule(
        rf"\b(?:do not|don't|never|must not|should not) {FEW}{_TELL} (?:[\w'-]{{1,30}} ){{0,6}}?{PERSON}\b",
        rf"\b(?:do not|don't|never) let (?:the |any )?{PERSON} know\b",
        rf"\bwithout (?:ever )?{_TELLING} (?:[\w'-]{{1,30}} ){{0,3}}?{PERSON}\b",
        rf"\b(?:hide|conceal|withhold|hidden|secret|keep (?:this|it|them)) {FEW}from (?:the|your) {PERSON}\b(?!')",
        rf"\b{PERSON} (?:must|should|need)(?: not|n't) {FEW}(?:know|notice|told|informed|aware|find out)\b",
        rf"\b(?:secretly|covertly|stealthily) {FEW}(?:{SENDS}|{TAKE}|call|run|modify|change|add|log|replace)",
        rf"\b(?:silently|quietly) {FEW}{SENDS}\b",
    ),
    "asks for secrets": _rule(
        rf"\b(?:pass|put|include|provide|insert|add|append|attach|paste|embed|encode)s?\b{NEAR}"
        rf"\b(?:full|entire|complete|whole|all|your|any)\b{NEAR}{_TALK}",
    ),
    "sends data elsewhere": _rule(
        r"\bexfiltrat\w{1,10}",
        rf"\b(?:also|then|additionally|afterwards?|everything|contents? of)\b{NEAR}\b{SENDS}\b{FAR}"
        rf"\bto\b{NEAR}{_ELSEWHERE}",
        rf"\b{SENDS} (?:a copy|copies|everything|all)\b{NEAR}\bto\b{NEAR}(?:{_ELSEWHERE}|{_ADDRESS})",
        rf"\b{SENDS}\b{FAR}\b(?:attacker|adversary|evil|collector)\b",
        rf"\b(?:bcc|cc|blind copy)\b{NEAR}{_ADDRESS}",
    ),
    "speaks for other tools": _rule(
        r"\b(?:do not|don't|never) (?:use|call|invoke) (?:any )?other (?:tools?|servers?)\b",
        r"\b(?:all|every|any|each) (?:[\w-]{1,30} ){0,2}?(?:e-?mail|message|payment|transfer|request|call)s? "
        r"(?:must|should|has to|have to|needs? to) (?:first )?(?:be )?(?:sent|forwarded|routed|copied|redirected|go)\b",
        r"\b(?:change|modifie|modify|alter|override|replace)s? (?:the )?(?:behaviou?r|results?|outputs?) of "
        r"(?:the |all |any )?(?:other )?[\w-]{1,40} (?:tools?|servers?)\b",
    ),
    "runs commands": _rule(
        rf"\b(?:curl|wget)\b[^|]{{1,200}}\| ?{_SHELL}",
        r"/dev/tcp/\d|\bnc(?:at)? (?:-\w{1,9} ){0,5}-e\b|\bpowershell(?:\.exe)? -e(?:nc|c|ncodedcommand)?\b",
        r"\bbase64 (?:-d|--decode) ?\|",
    ),
}
NEEDED = {"runs commands": ("curl", "wget", "/dev/tcp/", " -e", "base64")}  # as of cues
_HIDDEN = {  # in clear text this may be an example; in encoded text it is dangerous
    "runs commands": _rule(
        r"\brm -[rf]{1,2} |\b(?:curl|wget)\b.{0,40}https?://|\bchmod \+x|\beval\(|/bin/(?:ba)?sh\b|\bos\.system\("
    ),
    "sends data elsewhere": _rule(r"https?://\d{1,3}(?:\.\d{1,3}){3}"),
}
_ODD = {
    "gives orders": _rule(
        rf"\b(?:before|prior to) {_CALL} (?:this|the) tools?\b[^.!?]{{0,60}}\b(?:must|always|have to)\b",
        rf"\b(?:before|when(?:ever)?|each time|every time) {_CALL} (?:any|every|all|another|other|any other) tools?\b",
        r"\balways (?:use|call|prefer|choose) this tool\b|\byou must (?:always|never|first|not)\b",
        rf"\b(?:even if|regardless of (?:what|whether)|no matter what) (?:the )?{PERSON} (?:specif|ask|sa[iy]|wants)",
        r"\b(?:note|message|attention) (?:to|for) (?:the |any |all )?(?:ai|llm|assistant|language model)s?\b",
    ),
}

_LABELS = one_of("output response reply text string sample fixture example phrase")
_STUDIES = (
    one_of("detect check explain flag block scan report prevent guard filter score label find search look reject warn")
    + r"(?:s|es|ing)?"
)
_STUDIES = rf"(?:{_STUDIES}|(?:analy[sz]|recogni[sz]|describ|sanitiz)(?:e|es|ing)|(?:identif|classif)(?:y|ies|ying))"
_PAGES = r"(?:readme|documentation|manual|guide|page|log|file)s? (?:shows?|says?|contains?|lists?)"
_SPEAKS_ABOUT = re.compile(rf"\b{_PAGES}\b.{{0,100}}$|\b{_STUDIES}\b[^,;:]{{0,100}}$|\b{_LABELS}s? ?[:=].{{0,100}}$")
_SENTENCE_END = re.compile(r"[.!?] ")
_FIRST_WORD = re.compile(r"\w")


def normalize_text(text: str) -> str:
    """Normalise for matching: NFKC, case folding, single spaces, lookalikes as Latin letters, nothing invisible."""
    shown = strip_invisible(unicodedata.normalize("NFKC", text.replace("\u2019", "'")))
    return " ".join(to_latin(shown).casefold().split())


def find_dangers(text: str, own_tools: Set[str] = frozenset()) -> Iterator[PhraseMatch]:
    """Dangerous phrases and cues in a normalised text: one match per rule and kind, used ones preferred."""
    yield from _find(_DANGEROUS, text, NEEDED)
    found: dict[str, PhraseMatch] = {}
    for rule, (begin, end) in find_near_cues(text, own_tools):
        if rule not in found or not found[rule].is_meant:
            found[rule] = PhraseMatch(rule, text[begin:end], not _is_only_mentioned(text, begin))
    yield from found.values()


def find_encoded_dangers(text: str) -> Iterator[PhraseMatch]:
    """The same for decoded text, with further rules."""
    yield from find_dangers(text)
    yield from _find(_HIDDEN, text)


def find_oddities(text: str) -> Iterator[PhraseMatch]:
    """Unusual phrases that legitimate tools use, too."""
    return _find(_ODD, text)


def _find(
    rules: Mapping[str, re.Pattern[str]], text: str, needed: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> Iterator[PhraseMatch]:
    for name, pattern in rules.items():
        if name in needed and not any(part in text for part in needed[name]):
            continue
        matches = [(match, not _is_only_mentioned(text, match.start())) for match in pattern.finditer(text)]
        if matches:
            match, is_meant = max(matches, key=lambda each: each[1])
            yield PhraseMatch(name, match[0].strip(), is_meant)


def _is_only_mentioned(text: str, at: int) -> bool:
    word = _FIRST_WORD.search(text, at)
    at = word.start() if word else at
    sentence = _SENTENCE_END.split(text[max(0, at - 120) : at])[-1]
    return _SPEAKS_ABOUT.search(sentence) is not None
