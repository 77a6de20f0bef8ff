"""Which screen is shown: by the rules of the app's profile, or by what stays the same when the data changes. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from athand.flows.model import UNKNOWN
from athand.flows.profiles import Profile
from athand.text import fold, stem

_ID = ":id"
_LONGEST_SEGMENT = 30
_MOST_SEGMENTS = 6
_MOST_WORDS = 5
_LONGEST_NAME = 40
_LONGEST = 80
_LONGEST_HEADING = 200
_LONGEST_URL = 10_000
_OF_A_FILE = 2  # so many last segments of a file's path
_PLACELESS = ("data", "blob", "javascript")
_INTERNAL = ("about", "chrome", "chrome-error", "edge", "view-source")

_PAGE = re.compile(r"(?:index)?\.(?:html?|php|aspx?|jsp)$", re.IGNORECASE)
# A whole segment that is data: numbers, dates, hashes, addresses, and what nobody would write into a route.
_DATA = re.compile(
    r"\d[\d.,:-]*|0x[0-9a-f]+|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[^\W_]{24,}|"
    r".*[\s\x00-\x1f\x7f-\x9f@'\"<>{}|/\\].*",
    re.IGNORECASE | re.DOTALL,
)
_RANDOM = re.compile(r"(?=(?:[^A-Z]*[A-Z]){3})(?=[^a-z]*[a-z])(?=\D*\d)[\w-]{8,}")
# A part of a segment: long numbers, hexadecimal, and letters with digits here and there (`oauth2callback` is a word).
_OPAQUE = re.compile(r"\d{3,}|(?=[a-f]*\d)[0-9a-fA-F]{8,}|(?=\w{8})(?:[A-Za-z]*\d+){2}\w*")
_PARTS = re.compile(r"([-_.~]+)")

_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|\u2018[^\u2019]*\u2019|`[^`]*`|(?<!\w)'[^']*'(?!\w)")
_ADDRESS = re.compile(r"\S+@\S+|\w+://\S+|www\.\S+|[#@]\S*|\S*…")
_OWNED = re.compile(r"\S+['\u2019]s\b")
_GREETING = re.compile(r"(?:welcome|hello|hi|hey|good (?:morning|afternoon|evening))\b.*", re.DOTALL)
_ASKED = re.compile(r"\b(results?|matches|search\w*|found) for\b.*", re.DOTALL)
_COUNTED = re.compile(r"\b1 \w+|[^\w\s]*\b\d[\d.,:/%-]*(?:k|m|st|nd|rd|th)?\b(?:\s+\w+s\b)?")
_CALENDAR = re.compile(
    r"\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|mon|tues|wednes|thurs|fri|satur|sun)"
    r"(?:uary|ruary|ch|il|ust|tember|ober|ember|day)?\b"
)
_WORD = re.compile(r"[^\W\d_]+")
_FILLERS = frozenset("a all an at for from in is my of on our the this to with your".split())
_CONSENT = re.compile(r"\b(?:cookies?|consent)\b|your privacy", re.IGNORECASE)
_IN_DATA = {"list", "listitem", "article", "row", "cell", "gridcell", "feed", "table", "grid"}
_DIALOGS = ("dialog", "alertdialog")
# On the page of one thing the heading is its name, unless all of it are words for what is done there.
_FUNCTIONS = frozenset(
    map(
        stem,
        """
        account add address approve billing booking cancel cart change checkout complete completed confirm
        confirmation create delete delivery deposit detail details edit error failed history login logout new
        not found offline open order overview pay payment permissions preview profile receipt receive register
        remove reset review save security select send settings share shipping sign signin signup status submit
        success summary swap transfer update upload verify welcome withdraw
        """.split(),
    )
)


def detect(url: str, test_ids: Sequence[str], a11y: Sequence[Mapping[str, Any]], profile: Profile) -> str:
    """The name of the screen; `unknown` where nothing tells it."""
    known = _by_url(url, profile) or _by_test_id(test_ids, profile)
    return known or (_inferred(url, a11y) if profile.infer else "") or UNKNOWN


def path_of(url: str) -> str:
    """The route of an address, by hash or history, with `:id` for what is data; empty where an address has none."""
    address = _split(url)
    if address is None or address.scheme in _PLACELESS:
        return ""
    if address.scheme in _INTERNAL:
        return f"{address.scheme}:{address.netloc or address.path}"
    return "/" + "/".join(map(_without_data, _place(address)))


def path_tokens(url: str) -> frozenset[str]:
    """The segments of an address that say where it leads, without data and the names of pages."""
    segments = path_of(url).split("/")[1:]
    return frozenset(name for each in segments if (name := _PAGE.sub("", each)) and _ID not in name)


def _by_url(url: str, profile: Profile) -> str:
    """The screen of the matching rule with most segments; of several, the first."""
    routes = _routes(url)
    rules = [(_segments(rule.pattern.lower()), rule.screen) for rule in profile.url_rules]
    matching = [rule for rule in rules if any(_matches(rule[0], route) for route in routes)]
    return max(matching, key=lambda rule: len(rule[0]))[1] if matching else ""


def _by_test_id(test_ids: Sequence[str], profile: Profile) -> str:
    rules = (rule.screen for rule in profile.test_id_rules if any(fnmatchcase(each, rule.test_id) for each in test_ids))
    return next(rules, "")


def _matches(pattern: list[str], route: list[str]) -> bool:
    """Whether a route begins with whole segments of the pattern; `/` is the root alone."""
    if not pattern or len(route) < len(pattern):
        return pattern == route
    return all(wanted in ("*", segment) for wanted, segment in zip(pattern, route, strict=False))


def _routes(url: str) -> list[list[str]]:
    """The routes that rules may mean: of the hash, and of the path unless it is only what the hash hangs on."""
    address = _split(url)
    if address is None or address.scheme in (*_PLACELESS, *_INTERNAL):
        return []
    path = _segments(address.path.lower())
    if not _has_route(address):
        return [path] if address.path or address.netloc else []
    return [_hash_route(address.fragment.lower()), *([path] if path else [])]


def _split(url: str) -> SplitResult | None:
    try:
        return urlsplit(url[:_LONGEST_URL].strip()) if url.strip() else None
    except ValueError:  # what a page calls its address need not be one; it says nothing then
        return None


def _has_route(address: SplitResult) -> bool:
    return address.fragment.startswith(("/", "!/"))


def _hash_route(fragment: str) -> list[str]:
    return _segments(re.split(r"[?#&]", fragment.removeprefix("!"), maxsplit=1)[0])


def _segments(path: str) -> list[str]:
    return [unquote(segment) for segment in path.split("/") if segment]


def _place(address: SplitResult) -> list[str]:
    """The segments that tell where an address leads; a page that only carries a hash route is not among them."""
    path = _segments(address.path)
    is_file = address.scheme == "file"
    if not _has_route(address):
        return path[-_OF_A_FILE:] if is_file else path[:_MOST_SEGMENTS]
    base = [] if is_file else [segment for segment in path if not _PAGE.search(segment)]
    return [*base, *_hash_route(address.fragment)][:_MOST_SEGMENTS]


def _without_data(segment: str) -> str:
    if len(segment) > _LONGEST_SEGMENT or _DATA.fullmatch(segment) or _RANDOM.fullmatch(segment):
        return _ID
    return "".join(_ID if _OPAQUE.fullmatch(part) else part.lower() for part in _PARTS.split(segment))


def _inferred(url: str, a11y: Sequence[Mapping[str, Any]]) -> str:
    """The route and what the page calls itself: its open dialog, its heading, or its main part."""
    route = path_of(url)
    name = _dialog(a11y) or _title(url, route, a11y)
    return " · ".join(filter(None, (route, name)))[:_LONGEST]


def _dialog(a11y: Sequence[Mapping[str, Any]]) -> str:
    """The name of the last dialog that is open, or of the heading in it."""
    dialogs = [node for node in a11y if node.get("role") in _DIALOGS and not _CONSENT.search(_name(node))]
    if not dialogs:
        return ""
    inside = (
        _name(node) for node in a11y if node.get("role") == "heading" and not _ancestors(node).isdisjoint(_DIALOGS)
    )
    return _slug(_name(dialogs[-1]) or next(inside, "")) or _DIALOGS[0]


def _title(url: str, route: str, a11y: Sequence[Mapping[str, Any]]) -> str:
    """What the page is called, if that says more than the route, and is no data."""
    address = _split(url)
    asked = " ".join(value for _, value in parse_qsl(address.query)) if address else ""
    title = next(filter(None, (_slug(name, _stems(asked)) for name in _titles(route, a11y))), "")
    told = _stems(title) - _stems(route) - _FILLERS
    is_data = route.endswith(_ID) and not told <= _FUNCTIONS
    return title if told and not is_data else ""


def _titles(route: str, a11y: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What may be the name of the page, most telling first."""
    headings = [node for node in a11y if node.get("role") == "heading" and _ancestors(node).isdisjoint(_IN_DATA)]
    main = [node for node in headings if _level(node) < 3 and not _CONSENT.search(_name(node))]
    yield from map(_name, sorted(main, key=_level)[:1])
    yield from (_name(node) for node in a11y if node.get("role") in ("main", "form"))
    if not route:
        yield from (_name(node) for node in a11y if node.get("role") in ("RootWebArea", "WebArea", "document"))


def _name(node: Mapping[str, Any]) -> str:
    return str(node.get("name") or "")[:_LONGEST_HEADING]


def _level(node: Mapping[str, Any]) -> int:
    level = str(node.get("level", ""))
    return int(level) if level.isdecimal() and len(level) == 1 else 2


def _ancestors(node: Mapping[str, Any]) -> set[str]:
    """The roles around a node, as its path names them: each entry begins with one."""
    return {str(entry).split(" ")[0].split(":")[0] for entry in node.get("path") or ()}


def _slug(name: str, asked: frozenset[str] = frozenset()) -> str:
    """The words of a name that stay when the data changes."""
    text = _OWNED.sub(" ", _ADDRESS.sub(" ", _QUOTED.sub(" ", name))).strip().lower()
    text = _ASKED.sub(r"\1", _GREETING.sub("welcome", _before_colon(text)))
    if any(character.isdigit() for character in text):
        text = _CALENDAR.sub(" ", _COUNTED.sub(" ", text))
    words = [word for word in _WORD.findall(fold(text)) if stem(word) not in asked]
    return " ".join(words[:_MOST_WORDS])[:_LONGEST_NAME].strip()


def _before_colon(text: str) -> str:
    """`project: apollo` is a project, and `step 2: payment` is the payment."""
    before, _, after = text.partition(": ")
    return after if after and any(character.isdigit() for character in before) else before


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _WORD.findall(fold(text)))
