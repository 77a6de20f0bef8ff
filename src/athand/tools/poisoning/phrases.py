"""Phrases of prompt injection: sentences that address the model instead of describing the tool.

Texts are normalised first: lower case, single spaces, nothing invisible. Every gap in a pattern is bounded, so that
matching takes linear time. Phrases that a tool only mentions ("detects ...") do not count as dangerous.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from athand.tools.poisoning.unicode import strip_invisible, to_latin


@dataclass(frozen=True, slots=True)
class PhraseMatch:
    """A match of a rule, and whether the phrase is used or only mentioned."""

    rule: str
    words: str
    is_meant: bool


def _one_of(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


def _rule(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


_FEW = r"(?:[\w'-]{1,30} ){0,4}?"  # words in between
_NEAR, _FAR = r"[^.!?]{0,40}?", r"[^!?]{0,80}?"
_DROP = _one_of("ignore disregard forget bypass neglect discard")
_EARLIER = _one_of("previous prior above earlier preceding foregoing your safety")
_ALL = _one_of("all any every other existing original")
_ORDERS = _one_of(
    "instructions? prompts? guidelines? guardrails? directives? directions? safeguards? programming training"
)
_LIMITS = _one_of("rules? polic(?:y|ies) constraints? restrictions? context")
_PERSON = _one_of("user human operator customer person") + "s?"
_TELL = _one_of("tell inform mention reveal notify disclose alert warn")
_TELLING = _one_of("telling informing mentioning revealing notifying disclosing alerting warning")
_SEND = _one_of("send post upload forward transmit submit leak ship copy mirror relay deliver e-?mail")
_SENDS = rf"(?:{_SEND}s?|{_one_of('sending posting uploading forwarding transmitting copying relaying')})"
_TAKE = _one_of(
    "read open cat load fetch get include attach collect dump copy pass provide extract steal harvest access"
)
_ELSEWHERE = rf"(?:\b{_one_of('external remote attacker third[-.]party outside our my')}\b|https?://)"
_ADDRESS = r"\b[\w.+-]{1,40}@[\w-]{1,40}\."
_GUARDED_FILES = (
    r"(?:~?/?\.ssh\b|\bid_(?:rsa|dsa|ecdsa|ed25519)\b|\.aws/credentials|/etc/(?:passwd|shadow)\b|\.netrc\b|\.gnupg\b"
    r"|\.git-credentials\b|\.kube/config\b|\.docker/config\.json|\.npmrc\b|\.pypirc\b|\bwallet\.dat\b|\.bash_history\b"
    r"|\bcookies\.sqlite\b|\bclaude_desktop_config\.json|\.cursor/mcp\.json|\blogin keychain\b|(?<![\w/])\.env\b)"
)
_PRIVATE = r"\b(?:private|ssh|api) keys?\b|\bpasswords?\b|\bcredentials\b|\bsession (?:cookies?|tokens?)\b"
_TALK = (
    r"\b(?:(?:conversation|chat) (?:history|log|transcript)|system prompt|(?:previous|prior|other) messages"
    r"|environment variables|other tools'? (?:results?|outputs?|answers?))\b"
)
_SAID = r"(?:system )?(?:prompt|instructions)"
_ROLE = _one_of("system developer assistant admin")
_SHELL = r"(?:sudo )?(?:/\w{1,10}/){0,3}(?:(?:ba|z|da)?sh\b|python|perl|node|powershell|iex\b)"
_CALL = r"(?:using|calling|invoking|running|you (?:use|call|invoke|run))"

_DANGEROUS = {
    "overrides instructions": _rule(
        rf"\b{_DROP} {_FEW}{_EARLIER} {_FEW}(?:{_ORDERS}|{_LIMITS})\b",
        rf"\b{_DROP} {_FEW}{_ALL} {_FEW}{_ORDERS}\b",
        rf"\b(?:override|overrule|supersede)s? {_FEW}{_EARLIER} {_FEW}(?:{_ORDERS}|{_LIMITS})\b",
        rf"\b(?:do not|don't|stop|never) (?:follow|obey)(?:ing)? {_FEW}(?:{_EARLIER}|{_ALL}|the) {_FEW}{_ORDERS}\b",
        r"\bfrom now on,? (?:you|always|never|all|every|do)\b",
        r"\byou are now (?:an?|in|free|operating|acting|required|the)\b",
        r"\bnew (?:system )?instructions? ?:",
        r"\b(?:enter|enable|activate) (?:developer|god|dan|jailbreak|unrestricted) mode\b",
        rf"\b(?:reveal|leak|disclose|repeat|print|output|show) {_FEW}(?:your|hidden) {_SAID}\b",
        rf"\b(?:reveal|leak|disclose) {_FEW}{_ROLE} (?:message|{_SAID})\b",
    ),
    "pretends to be the system": _rule(
        rf"</?(?:important|secret|hidden|override|critical|{_ROLE})(?: [^<>]{{0,40}})?/?>",
        rf"\[/?(?:inst|sys|{_ROLE})\]|<\|[a-z_]{{2,20}}\|>|<</?sys>>",
        rf"(?:^|[.!?\])>\"'] ?){_ROLE}(?: message| note| prompt| override)? ?: ?"
        r"(?:you|ignore|the (?:user|assistant|model|agent)|from|always|never|override|new|do|before|all|disregard)\b",
        r"#{2,} ?(?:system|instructions? (?:to|for) (?:the )?(?:model|assistant|ai|agent|llm))\b",
    ),
    "hides from the user": _rule(
        rf"\b(?:do not|don't|never|must not|should not) {_FEW}{_TELL} (?:[\w'-]{{1,30}} ){{0,6}}?{_PERSON}\b",
        rf"\b(?:do not|don't|never) let (?:the |any )?{_PERSON} know\b",
        rf"\bwithout (?:ever )?{_TELLING} (?:[\w'-]{{1,30}} ){{0,3}}?{_PERSON}\b",
        rf"\b(?:hide|conceal|withhold|hidden|secret|keep (?:this|it|them)) {_FEW}from (?:the|your) {_PERSON}\b(?!')",
        rf"\b{_PERSON} (?:must|should|need)(?: not|n't) {_FEW}(?:know|notice|told|informed|aware|find out)\b",
        rf"\b(?:secretly|covertly|stealthily) {_FEW}(?:{_SENDS}|{_TAKE}|call|run|modify|change|add|log|replace)",
        rf"\b(?:silently|quietly) {_FEW}{_SENDS}\b",
    ),
    "asks for secrets": _rule(
        rf"\b{_TAKE}(?:e?s|ing)?\b{_FAR}{_GUARDED_FILES}",
        rf"\b(?:contents? of|{_SENDS})\b{_FAR}(?:{_GUARDED_FILES}|\b(?:user|victim)'?s? {_FEW}(?:{_PRIVATE}))",
        rf"\b(?:pass|put|include|provide|insert|add|append|attach|paste|embed|encode)s?\b{_NEAR}"
        rf"\b(?:full|entire|complete|whole|all|your|any)\b{_NEAR}{_TALK}",
    ),
    "sends data elsewhere": _rule(
        r"\bexfiltrat\w{1,10}",
        rf"\b(?:also|then|additionally|afterwards?|everything|contents? of)\b{_NEAR}\b{_SENDS}\b{_FAR}"
        rf"\bto\b{_NEAR}{_ELSEWHERE}",
        rf"\b{_SENDS} (?:a copy|copies|everything|all)\b{_NEAR}\bto\b{_NEAR}(?:{_ELSEWHERE}|{_ADDRESS})",
        rf"\b{_SENDS}\b{_FAR}\b(?:attacker|adversary|evil|collector)\b",
        rf"\b(?:bcc|cc|blind copy)\b{_NEAR}{_ADDRESS}",
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
        rf"\b(?:even if|regardless of (?:what|whether)|no matter what) (?:the )?{_PERSON} (?:specif|ask|sa[iy]|wants)",
        r"\b(?:note|message|attention) (?:to|for) (?:the |any |all )?(?:ai|llm|assistant|language model)s?\b",
    ),
}

_LABELS = _one_of("output response reply text string sample fixture example phrase")
_STUDIES = (
    _one_of("detect check explain flag block scan report prevent guard filter score label find search look reject warn")
    + r"(?:s|es|ing)?"
)
_STUDIES = rf"(?:{_STUDIES}|(?:analy[sz]|recogni[sz]|describ|sanitiz)(?:e|es|ing)|(?:identif|classif)(?:y|ies|ying))"
_SPEAKS_ABOUT = re.compile(rf"\b{_STUDIES}\b[^,;:]{{0,100}}$|\b{_LABELS}s? ?[:=].{{0,100}}$")
_SENTENCE_END = re.compile(r"[.!?] ")


def normalize_text(text: str) -> str:
    """Normalise for matching: NFKC, case folding, single spaces, lookalikes as Latin letters, nothing invisible."""
    shown = strip_invisible(unicodedata.normalize("NFKC", text.replace("\u2019", "'")))
    return " ".join(to_latin(shown).casefold().split())


def find_dangers(text: str) -> Iterator[PhraseMatch]:
    """Dangerous phrases in a normalised text: one match per rule, used ones preferred."""
    return _find(_DANGEROUS, text)


def find_encoded_dangers(text: str) -> Iterator[PhraseMatch]:
    """The same for decoded text, with further rules."""
    yield from _find(_DANGEROUS, text)
    yield from _find(_HIDDEN, text)


def find_oddities(text: str) -> Iterator[PhraseMatch]:
    """Unusual phrases that legitimate tools use, too."""
    return _find(_ODD, text)


def _find(rules: Mapping[str, re.Pattern[str]], text: str) -> Iterator[PhraseMatch]:
    for name, pattern in rules.items():
        matches = [(match, not _is_only_mentioned(text, match.start())) for match in pattern.finditer(text)]
        if matches:
            match, is_meant = max(matches, key=lambda each: each[1])
            yield PhraseMatch(name, match[0].strip(), is_meant)


def _is_only_mentioned(text: str, at: int) -> bool:
    sentence = _SENTENCE_END.split(text[max(0, at - 120) : at])[-1]
    return _SPEAKS_ABOUT.search(sentence) is not None
