"""Removes secrets and private parts from texts before they are stored.

A secret is recognized by its form (`ghp_…`), by its place (in a URL, in a header), or by a key in front of it
(`password=…`). The first two are tables of patterns; the third is decided by rules, because texts and programs mention
passwords far more often than they contain one. Every search is linear: repetitions are bounded or possessive.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from operator import itemgetter
from string import punctuation
from typing import NamedTuple

from athand.errors import InvalidInput

# Kind -> the prefixes of its tokens, and the pattern of the rest.
_PREFIXED = {
    "age key": ("AGE-SECRET-KEY-1", r"[A-Z0-9]{40,}"),
    "Anthropic key": ("sk-ant-", r"[\w-]{20,}"),
    "1Password token": ("ops_eyJ", r"[\w+/=-]{50,}"),
    "API key": ("bkua_ gsk_ lsv2_pt_ lsv2_sk_ nfp_ pplx- r8_ tskey- xai-", r"[\w-]{0,30}?[A-Za-z0-9]{24,}[\w-]*"),
    "Atlassian token": ("ATATT3 ATCTT3", r"[\w=-]{50,}"),
    "Cloudflare token": ("cfk_ cfut_ cfat_ v1.0-", r"(?:[A-Za-z0-9]{40,}|[0-9a-f]{24}-[0-9a-f]{80,})"),
    "Databricks token": ("dapi", r"[0-9a-f]{32}(?:-\d)?(?!\w)"),
    "DigitalOcean token": ("dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{40,}"),
    "Discord webhook": ("discord.com/api/ discordapp.com/api/", r"(?:v\d+/)?webhooks/\d+/[\w-]{20,}"),
    "Docker token": ("dckr_pat_ dckr_oat_", r"[\w-]{20,}"),
    "Doppler token": ("dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"(?:[\w-]{2,35}\.)?[A-Za-z0-9]{32,}"),
    "Figma token": ("figd_ figu_", r"[\w-]{30,}"),
    "Fly.io token": ("fo1_ fm1a_ fm1r_ fm2_", r"[\w+/=-]{40,}"),
    "GitHub token": ("ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"\w{20,}(?:\.[\w-]{16,}){0,2}"),
    "GitLab token": ("glpat- gldt- glrt- glptt- glcbt- glft- glimt- gloas- glsoat-", r"[\w-]{20,}(?:\.\w{2}\.\w{6,})?"),
    "Google API key": ("AIza", r"[\w-]{30,}(?![+/])"),
    "Google OAuth secret": ("GOCSPX-", r"[\w-]{20,}"),
    "Google OAuth token": ("ya29. 1//0", r"[\w-]{20,}"),
    "Grafana token": ("glsa_ glc_ eyJrIjoi", r"[A-Za-z0-9+/=]{30,}(?:_[0-9a-f]{8})?"),
    "Heroku key": ("HRKU-", r"[\w-]{30,}"),
    "Hugging Face token": ("hf_ api_org_", r"[A-Za-z0-9]{30,}"),
    "Linear key": ("lin_api_ lin_oauth_", r"[A-Za-z0-9]{32,}"),
    "New Relic key": ("NRAK- NRII- NRRA-", r"[\w-]{20,}"),
    "Notion token": ("ntn_ secret_", r"[A-Za-z0-9]{40,}"),
    "npm token": ("npm_", r"[A-Za-z0-9]{30,}"),
    "Postman key": ("PMAK-", r"[0-9a-f]{24}-[0-9a-f]{30,}"),
    "private key": ("LS0tLS1CRUdJTi", r"B(?:SU0EgUFJJ|QUklWQ|PUEVO|FQyBQU|FTkNS|EU0EgUFJJ|QR1AgUFJJ)[\w+/=]{40,}"),
    "PyPI token": ("pypi-AgE", r"[\w-]{30,}"),
    "SendGrid key": ("SG.", r"[\w-]{20,24}\.[\w-]{39,}"),
    "Sentry token": ("sntrys_ sntryu_", r"[\w+/=-]{40,}"),
    "Shopify token": ("shpat_ shpca_ shppa_ shpss_", r"[0-9a-fA-F]{30,}"),
    "Slack token": ("xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"(?=[^\s-]{0,12}\d)[\w%/+-]{10,}"),
    "Slack webhook": ("hooks.slack.com/", r"(?:services|workflows|triggers)/[\w/+-]{20,}"),
    "Square token": ("sq0atp- sq0csp-", r"[\w-]{20,}"),
    "Stripe key": ("sk_live_ sk_test_ rk_live_ rk_test_", r"[A-Za-z0-9]{16,}"),
    "Stripe webhook secret": ("whsec_", r"[\w+/=]{24,}"),
    "Supabase key": ("sbp_ sb_secret_", r"(?:[0-9a-f]{32,}|(?<=sb_secret_)[\w-]{20,})"),
    "Twilio key": ("SK", r"[0-9a-f]{32}(?!\w)"),
    "Vault token": ("hvs. hvb. hvr.", r"[\w-]{20,}"),
    "wallet key": ("xprv yprv zprv", r"[1-9A-HJ-NP-Za-km-z]{100,}"),
}

# Kind, a text that must occur before the pattern is tried, how the token begins (of one length), and the rest of it.
_SHAPED = (
    ("JWT", "eyJ", "eyJ", r"[\w-]{8,}\.(?:eyJ[\w-]{8,}(?:\.[\w-]*)?|[\w-]*\.[\w-]{16,}(?:\.[\w-]+){0,2})"),
    ("AWS access key", "IA", "A", r"(?:KIA|SIA|BIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("OpenAI key", "sk-", "sk-", r"(?:proj|svcacct|admin)-(?=[\w-]{0,80}?\d)[\w-]{32,}"),
    ("OpenAI key", "sk-", "sk-", r"(?:or-v1-)?(?=[A-Za-z]*\d)[A-Za-z0-9]{32,}"),
    ("Mailgun key", "key-", "key-", r"[0-9a-f]{32}(?![\w-])"),
    ("Mailgun key", "-", "[0-9a-f]", r"[0-9a-f]{31}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])"),
    ("Telegram bot token", ":AA", "bot", r"\d{8,10}:AA[\w-]{33,}"),
    ("Telegram bot token", ":AA", r"\d", r"\d{7,9}:AA[\w-]{33,}"),
    ("Discord bot token", ".", "[MNO]", r"[\w-]{23,25}\.[\w-]{6}\.[\w-]{27,}"),
    ("Airtable token", "pat", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
)
# Kind, a hint in lower case, the pattern before the secret in any case, the secret. Applied after the tokens, whose
# kinds are more specific.
_SETS = r"[\"']?[ \t]{0,4}[=:][ \t]{0,4}[\"']?"
_SCHEME = r"(?:(?:bearer|basic|token|bot|key|api-?key)[ \t]{1,4})?"
_RANDOM = r"(?=\S{0,200}?(?:[0-9]|[a-z][A-Z]))"
_WORD = r"(?:(?!\[redacted:)[^\s\"']){3,}"
_SEED = r"(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8}(?![A-Za-z0-9])"
_PLACES = (
    ("AWS secret key", "aws access key]", r"AWS access key\][\s\"',:;|]{1,5}", r"[A-Za-z0-9+/]{40}(?![\w+/=])"),
    ("AWS secret key", "secret", r"(?:secret_?access|aws_?secret)(?:_?key)?" + _SETS, r"[A-Za-z0-9+/]{40}(?![\w+/=])"),
    ("Azure storage key", "key=", r"(?:Account|SharedAccess)Key=", r"[A-Za-z0-9+/]{40,}={0,2}"),
    ("Azure SAS signature", "sig=", r"[?&;]sig=", r"[\w%+/-]{30,}={0,2}"),
    ("URL signature", "-signature=", r"x-(?:amz|goog)-signature=", r"[0-9a-f]{32,}"),
    ("authorization", "authorization", "authorization" + _SETS + _SCHEME, r"(?!AWS4)" + _RANDOM + r"[\w.~+/=:-]{8,}"),
    ("authorization", "bearer", r"\bbearer[ \t]{1,4}", _RANDOM + r"[\w.~+/=-]{16,}"),
    ("password", "://", r"://[^\s:/?#@\"'<>]*:", r"[^\s/\"'<>]+(?=@[\w\[{$])"),
    ("password", "curl", r"\bcurl\b(?:(?!\bcurl\b)[^\n]){0,200}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,64}:", _WORD),
    ("password", "mysql", r"\bmysql[a-z]{0,9}[ \t](?:(?!\bmysql)[^\n]){0,100}?\s-p(?!-)", _WORD),
    ("password", "login", r"\blogin[ \t]{1,4}\S{1,64}\s{1,8}password[ \t]{1,4}", _WORD),
    ("seed phrase", "phrase", r"phrase[\"'`* ]{0,4}(?:[:=]|is)\W{1,4}", _SEED),
)


# Kind, a text that must occur before the pattern is tried, how the token begins (of one length), the rest of it, and
# the characters behind which it does not begin.
_TOKENS = [
    *(
        (kind, begin, re.escape(begin), rest, "A-Za-z0-9")
        for kind, (all_, rest) in _PREFIXED.items()
        for begin in all_.split()
    ),
    *((*token, r"\w+-") for token in _SHAPED),
    ("Azure client secret", "Q~", r"[\w~.-]", r"[\w~.-]{2}\dQ~[\w~.-]{31,34}(?![\w~-])", r"\w~.-"),
]
# What a token stands behind is looked at after its begin: a pattern with a literal begin is found much faster.
# An escape sequence, such as `\n` or `%3D`, ends where the token begins.
_TOKEN_RULES = [
    (kind, hint, rf"{begin}(?:(?<![{behind}]{begin})|(?<=\\[nrt]{begin})|(?<=%[0-9A-F][0-9A-F]{begin})){rest}")
    for kind, hint, begin, rest, behind in _TOKENS
]
_SHORTEST_TOKEN = 15  # xoxb- and ten characters; there is no white space in any
_PLACE_RULES = [(kind, hint, f"(?i:{before})({secret})") for kind, hint, before, secret in _PLACES]

# A key block up to its end; of a truncated one, as much as looks like a key.
_KEY_LINES = r"(?:(?:\\[nrt]|[\s\"'+,>#|*])*+[A-Za-z0-9+/=]{16,}+)++(?:\r?\n[ \t]*+[A-Za-z0-9+/=]{1,15}(?=\r?\n|\Z))?"
_KEY_BLOCK = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-]|-(?!----))*+-----END [A-Z0-9 ]{0,40}-----"
    r"|(?:\s*+[A-Z][A-Za-z-]{2,20}: (?:[^\n-]|-(?!----)){0,200}+\n)*+"
    rf"{_KEY_LINES})|Private-Lines: \d{{1,3}}{_KEY_LINES}"
)
_PRIVATE_TAG = re.compile(r"<\s{0,8}(?:private(?:>|\s)|(/)\s{0,8}private\s{0,8}>)", re.IGNORECASE)
_NAMES = (
    r"passw(?:or)?d|passphrase|passcode|passwort|pwd|pass(?<=_pass)|secret|token|credential|auth(?<![a-z]auth)|"
    r"api[ _-]?key|access[ _-]?key|encryption[ _-]?key|private[ _-]?key|shared[ _-]?key|signing[ _-]?key"
)
_SUFFIX = r"(?:[ _-]?(?:key|base|value|prod|production|dev|development|stage|staging|test|live|old|new|\d{1,2}))"
_CLOSING = r"(?:\\?[\"'`]\]?|\*{1,2})?"
_ABOUT = r"(?: (?:for|of|to|on)(?: [\w.@/-]{1,30}){1,4}?)?"
_TYPE = r"[ \t]?(?:string|str|bytes|secretstr|optional\[str\]|str ?\| ?none)[ \t]?="
_SIGN = rf"[ \t]{{0,9}}(?:=>|:=|!?={{1,3}}|:(?!:)(?:{_TYPE})?)[ \t]{{0,9}}|[ \t]is[ \t:]{{1,4}}"
_NAME = rf"(?P<name>(?:{_NAMES}){_SUFFIX}{{0,2}}{_CLOSING})"
# Searched in lower case: an assignment, an option of a command, an XML element. The value is matched separately, so
# that a key inside a rejected value is found too.
_KEYS = (
    re.compile(rf"{_NAME}{_ABOUT}(?P<sign>{_SIGN})(?:\*\* ?)?"),
    re.compile(rf"--(?<![\w-]--)[\w-]{{0,64}}?{_NAME}(?P<sign>[ \t]{{1,4}})(?:\*\* ?)?"),
    re.compile(rf"<[\w:.-]{{0,64}}?{_NAME}(?P<sign>>)"),
)
_LONGEST_BARE = 64
_MAX_PASSES = 4
_VALUE = re.compile(
    r"(?:[BbFfRrUu]{1,2}|@)?(?P<quote>\\?(?:\"\"\"|'''|[\"'`]))"
    r"(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\\\n])){1,1000})(?P=quote)"
    rf"|[\"'`“]?(?P<bare>(?!\[redacted:)[^\s\"'`“”]{{3,{_LONGEST_BARE}}})"
)
_QUOTE = re.compile("[\"'`]")
_BARE_CUT = re.compile(r";|[,&](?=[\w.-]+=)|\\[nr](?=[\w.-]*[=:\s]|$)|\[redacted:|</")
_BARE_WHOLE = re.compile(r"(?:[^\s\"'`“”;,&\[<\\]|[,&](?![\w.-]+=)|\[(?!redacted:)|<(?!/)|\\(?![nr][\w.-]*[=:\s]))*")
_LONGEST_BEFORE, _LONGEST_AFTER = 64, 12
_SURROUNDINGS, _MAX_JUDGED = 256, 1000  # characters from a key on whose judgement is remembered; how many are
_CLOSING_TAG = re.compile(r"[.,:)\]}>|\\]*</")
_BETWEEN_NAMES = re.compile(r"[^\w-]")
_CONFIG = re.compile(
    r"\n[ \t]*(?:[-*>•]{1,2}[ \t]+)?[\"'`*]{0,3}[\w.-]*$|[_.-]$|(?i:user|login|mail)\w*[\"'`*]{0,2}[ \t]*[:=].*$"
)
_ENDS = re.compile(r"[ \t]{0,9}(?:\Z|[\n\r,;})\]#<]|//|\.(?:\s|\Z))")
_IN_CALL = re.compile(r",(?:\s|\Z)|\)")

# Placeholders of secrets, and words that are none.
_MASKED = re.compile(r"[xX]{5}|\*{3}|\.{3}|…|[yY](?<!\w.)(?i:our)[-_ ]")
_SAMPLE = re.compile(r"change_?me|example|placeholder|[-_]here$")
_REFERENCE = re.compile(
    r"\$[({]|\$[A-Z_][A-Z0-9_]*$|\$[a-z_]+$|\$\d$|[{<][{\w ]|#\{|%\(|%[drsv]$|%\w+%$|:[a-z_]+$"  # variables, templates
    r"|\[redacted:|ENC\(|!(?:Ref|Sub|GetAtt|vault|secret|env)\b|(?:env|file|vault|ssm|arn|keyring):|\w+://"  # stores
    r"|(?:~|\.{1,2}|[A-Za-z]:)?[\\/](?:[\w.@-]{1,24}[\\/])*+[\w.@-]{0,24}$|[\w.+-]+@[\w-]+\.[\w.]+$"  # paths, addresses
    r"|v?\d+(?:\.\d+)+(?:[-+]\w+)?$|\d{4}-\d\d(?:-|$)|0x[0-9a-fA-F]{40}$"  # versions, dates, accounts
    r"|(?i:sha|md|pbkdf|argon|base|utf|oauth|aes|rsa|[ehr]s|rfc)[-_]?\d+(?!\w)"  # methods
)
_CODE = re.compile(
    r"[A-Za-z_$@][\w.:>?$-]*\(|[A-Za-z_$][\w.]*\[|[A-Za-z_.]+<|[&*][a-z_]+$|[(-]"  # calls, items, pointers, flags
    r"|(?:[A-Za-z_$]+(?:\.|->|::|\?\.))+[A-Za-z_]+!?$"
    r"|(?:[A-Za-z_$]\w*(?:\.|->|::))+[A-Z][a-z]\w*$|[A-Z]+(?:_[A-Z0-9]+)+$"  # paths, constants
    r"|(?=[A-Za-z]*(?:_|[a-z][A-Z]))(?=[A-Za-z_]*+$)"  # names of secrets
    r"[A-Za-z_]*?(?i:pass|pwd|secret|token|key|auth|cred)"
)
_ODD = re.compile(r"\A(?=\D*\d)(?=[\W\d_]*[^\W\d_])|\w[!@#$%^&*+=?~]+\w|[!@#$%^&*+?~]\w")
_PLAIN = re.compile(r"(?:[A-Za-z]+\d{0,3}|\d{1,4})(?:[-_./:](?:[A-Za-z]+\d{0,3}|\d{1,4}))*+")
_ORDINARY = frozenset(
    """
    a access after all an and any api apikey are arg args as at auth auto await be bearer before below bool boolean by
    bytes can cannot changed char config confirm credential credentials data default disabled email empty enabled
    encrypted enter env expired false field file flag for forgotten from generated hash hashed has header hidden id if
    in incorrect input int integer invalid is it key line long login masked match max may min missing must my n/a na
    name needed never new next nil no none not null number object of off on only optional or pass passphrase passwd
    password passwords please private prompt protected provided public pw pwd random raw redacted removed required
    reset same secret secrets secretstr see self set short should some stdin stored str string strong tbd text that the
    this to todo token tokens true type undefined unchanged unknown unset use used user username valid value var
    varchar variable void was when will with without wrong yes you your
    """.split()
)


# Decides whether a secret that was found is redacted, from its kind, the text, and where in it the secret is.
Accept = Callable[[str, str, int, int], bool]


class _Assignment(NamedTuple):
    """A value assigned to a key that names a secret, and its surroundings."""

    name: str
    sign: str
    value: str
    is_quoted: bool
    before: str
    after: str


def clean(text: str) -> str:
    """The text without private blocks and with secrets redacted."""
    return redact(strip_private(text))


def refuse_secret(what: str, name: str) -> str:
    """The name, which is shown everywhere: a secret or a private part in one is refused, not redacted."""
    if not _is_public(name):
        raise InvalidInput(f"{what} looks like a secret or has a private part. Choose another.")
    return name


@lru_cache(maxsize=256)
def _is_public(name: str) -> bool:
    """Whether a name has no secret in it; many memories have the same project or session."""
    return clean(name) == name


def strip_private(text: str) -> str:
    """The text without `<private>…</private>` blocks; an unclosed one reaches to the end."""
    kept: list[str] = []
    depth = end = 0
    for tag in _PRIVATE_TAG.finditer(f"{text}<private>"):
        piece = "" if depth else text[end : tag.start()]
        if piece := piece.lstrip(" ") if kept and kept[-1].endswith(" ") else piece:
            kept.append(piece)
        depth = max(0, depth + (-1 if tag[1] else 1))
        end = tag.end()
    return "".join(kept)


def redact(text: str, accept: Accept = lambda kind, text, start, stop: True) -> str:
    """Replaces every secret by `[redacted: <kind>]`."""
    # Repeated, because a redaction may reveal another secret, but none whose hint was not there before.
    has_long_word = max(map(len, text.split()), default=0) >= _SHORTEST_TOKEN
    rules = [rule for rule in _TOKEN_RULES if rule[1] in text] if has_long_word else []
    for _ in range(_MAX_PASSES):
        before, text = text, _redact_once(text, rules, accept)
        if text == before:
            break
    return text


def redact_key_blocks(text: str, line: str = "") -> str:
    """Replaces the blocks of private keys; each of their line breaks becomes `line`."""

    def label(block: re.Match[str]) -> str:
        is_key = re.search("[A-Za-z0-9+/]{16}", block[0])
        return "[redacted: private key]" + line * block[0].count("\n") if is_key else block[0]

    return _KEY_BLOCK.sub(label, text)


def _redact_once(text: str, token_rules: Iterable[tuple[str, str, str]], accept: Accept) -> str:
    text = redact_key_blocks(text)
    text = _apply_rules(token_rules, text, text, accept)
    text = _apply_rules(_PLACE_RULES, text, text.lower(), accept)
    return _replace_spans(text, _find_assignments(text, accept))


def _replace_spans(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    pieces: list[str] = []
    end = 0
    for start, stop, kind in spans:
        pieces += [text[end:start], f"[redacted: {kind}]"]
        end = stop
    return "".join([*pieces, text[end:]])


def _apply_rules(rules: Iterable[tuple[str, str, str]], text: str, haystack: str, accept: Accept) -> str:
    for kind, hint, pattern in rules:
        if hint in haystack:
            text = _replace_spans(text, _find_secrets(kind, pattern, text, accept))
    return text


def _find_secrets(kind: str, pattern: str, text: str, accept: Accept) -> Iterator[tuple[int, int, str]]:
    """The spans of a rule's secrets, and of the tokens that follow one of them without anything between."""
    end = 0
    judged: dict[str, bool] = {}
    for match in re.finditer(pattern, text, re.ASCII):
        start, stop = match.span(match.lastindex or 0)
        if start < end:
            continue
        if (is_placeholder := judged.get(value := text[start:stop])) is None:
            is_placeholder = _is_placeholder(value)
            if len(judged) < _MAX_JUDGED:
                judged[value] = is_placeholder
        if not is_placeholder and accept(kind, text, start, stop):
            yield start, (end := stop), kind
            while not match.lastindex and (token := _next_token().match(text, end)) and not _is_placeholder(token[0]):
                yield end, token.end(), _TOKENS[(token.lastindex or 0) - 1][0]
                end = token.end()


@cache
def _next_token() -> re.Pattern[str]:
    """The pattern of all tokens; compiling it takes longer than the rest of this module."""
    any_token = "|".join(f"({begin}{rest})" for _, _, begin, rest, _ in _TOKENS)
    return re.compile(rf"(?=[\w~.-])(?:{any_token})", re.ASCII)


def _find_assignments(text: str, accept: Accept) -> Iterator[tuple[int, int, str]]:
    """Spans of secret values that are assigned to keys like `password` or `token`."""
    # The dotted capital I is the one character that becomes two in lower case.
    lower, end = text.replace("İ", "i").lower(), 0
    judged: dict[tuple[str, int], tuple[int, int] | None] = {}  # by the surroundings: a text may repeat them
    for at, key in sorted(
        ((_key_start(key), key) for keys in _KEYS for key in keys.finditer(lower)), key=itemgetter(0)
    ):
        if at < end:
            continue
        surroundings = text[max(0, at - _LONGEST_BEFORE - 1) : at + _SURROUNDINGS], key.end() - at
        if surroundings in judged:
            span = judged[surroundings]
        else:
            span, reach = _find_value(text, at, key)
            if at > _LONGEST_BEFORE and reach < at + _SURROUNDINGS and len(judged) < _MAX_JUDGED:
                judged[surroundings] = span
        if span and accept(_kind_of(key), text, at + span[0], at + span[1]):
            end = at + span[1]
            yield at + span[0], end, _kind_of(key)


def _find_value(text: str, at: int, key: re.Match[str]) -> tuple[tuple[int, int] | None, int]:
    """Where the credential after a key begins and ends, from the key on; and how far the text was looked at."""
    value = _VALUE.match(text, key.end())
    # Whether an opening quote is closed may be seen only much later.
    is_open = (value is None or value.lastgroup == "bare") and _QUOTE.search(text, key.end(), key.end() + 4)
    reach = len(text) if is_open else (value or key).end() + _LONGEST_AFTER
    found = value and _parse_assignment(text, key, value)
    if not value or not found or not _is_credential(_kind_of(key), found):
        return None, reach
    start = value.start(value.lastgroup or 0) - at
    if found.is_quoted or len(found.value) < _LONGEST_BARE:
        return (start, start + len(found.value)), reach
    whole = next(_BARE_WHOLE.finditer(text, start + at))[0]
    return (start, start + len(whole or found.value)), len(text)


def _kind_of(key: re.Match[str]) -> str:
    return "password" if key["name"].startswith(("pass", "pwd")) else "secret"


def _key_start(key: re.Match[str]) -> int:
    return key.start("name")


def _parse_assignment(text: str, key: re.Match[str], match: re.Match[str]) -> _Assignment | None:
    """The assignment with its surroundings; None if the value is no secret, whatever surrounds it."""
    value, is_quoted = match[match.lastgroup or 0], match.lastgroup == "quoted"
    if not is_quoted and (cut := _BARE_CUT.search(value)):
        value = value[: cut.start()]
    if not is_quoted and len(value) < _LONGEST_BARE:
        value = value.rstrip(".,:)]}>|\\")
    if (not is_quoted and _CODE.match(value)) or _is_placeholder(value) or _SAMPLE.search(value.lower()):
        return None
    opening = max(0, _key_start(key) - _LONGEST_BEFORE)
    before = ("" if opening else "\n") + text[opening : _key_start(key)]
    name = _BETWEEN_NAMES.split(before)[-1] + text[_key_start(key) : key.start("sign")].strip("\\\"'`]*")
    stop = match.start(match.lastgroup or 0) + len(value)
    return _Assignment(name, key["sign"], value, is_quoted, before, text[stop : stop + _LONGEST_AFTER])


def _is_credential(kind: str, found: _Assignment) -> bool:
    if found.sign == ">" and not _CLOSING_TAG.match(found.after):
        return False
    return _is_password(found) if kind == "password" else _is_token(found)


def _is_password(found: _Assignment) -> bool:
    """Nearly any assigned value is a password; one that is only mentioned must look less like a word."""
    value, sign, is_odd = found.value, found.sign.strip(), bool(_ODD.search(found.value))
    ends = bool(_ENDS.match(found.after))
    if found.is_quoted:
        return len(value) > 2 and not (re.search(r"\s", value) and _has_ordinary_word(value))
    if sign.endswith(("=", ">")):
        is_loose = sign != found.sign and (not ends or found.after[:1] == ";" or "_" in value)
        is_name = value.isidentifier() and bool(is_loose or _IN_CALL.match(found.after))
        return len(value) > 2 and (is_odd or not is_name)
    is_config = sign.startswith(":") and ends and (found.name.isupper() or _CONFIG.search(found.before))
    is_phrase = value.count("-") > 1 or (is_config and len(value) > 3)
    return (is_odd and len(value) > 5) or bool(is_phrase and not _has_ordinary_word(value))


def _is_token(found: _Assignment) -> bool:
    """A token is long and no word; only an assigned `secret` may be a word."""
    value, name = found.value, found.name
    if len(value) < 8 or re.search(r"\s" if "secret" in name.lower() else r"[\s(){}\[\]|]", value):
        return False
    if not _PLAIN.fullmatch(value):
        return bool(_ODD.search(value)) and (not name.lower().endswith("auth") or len(value) > 15)
    is_set = found.is_quoted or (found.sign in ("=", ">") and not _IN_CALL.match(found.after))
    is_word = _has_ordinary_word(value) or bool(_CODE.match(value))
    return is_set and not is_word and ("secret" in name.lower() or name.isupper())


def _is_placeholder(value: str) -> bool:
    core = value.lower().strip(punctuation)
    is_one_letter = len(set(core)) < 2 and not core.isdigit()
    return is_one_letter or core in _ORDINARY or bool(_REFERENCE.match(value) or _MASKED.search(value))


def _has_ordinary_word(value: str) -> bool:
    return not _ORDINARY.isdisjoint(re.split(r"[\W_]+", value.lower()))
