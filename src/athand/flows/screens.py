"""Detects the screen of a page: by the rules of the app's profile, else by its route and heading without data. Pure."""

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
_FILE_SEGMENTS = 2  # the last segments of a file's path are its route
_SCHEMES_WITHOUT_ROUTE = ("data", "blob", "javascript")
_BROWSER_SCHEMES = ("about", "chrome", "chrome-error", "edge", "view-source")

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
# On the page of one item the heading is its name, unless it has only words for what is done there.
_ACTION_WORDS = frozenset(
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


def detect_screen(url: str, test_ids: Sequence[str], a11y: Sequence[Mapping[str, Any]], profile: Profile) -> str:
    """The name of the screen; `unknown` if nothing identifies it."""
    known = _match_url_rules(url, profile) or _match_test_id_rules(test_ids, profile)
    return known or (_infer_screen(url, a11y) if profile.infer else "") or UNKNOWN


def route_of(url: str) -> str:
    """The route of a URL, from its path or hash, with `:id` in place of data; empty if it has none."""
    address = _parse_url(url)
    if address is None or address.scheme in _SCHEMES_WITHOUT_ROUTE:
        return ""
    if address.scheme in _BROWSER_SCHEMES:
        return f"{address.scheme}:{address.netloc or address.path}"
    return "/" + "/".join(map(_mask_data, _route_segments(address)))


def route_tokens(url: str) -> frozenset[str]:
    """The segments of a route without data and the names of pages."""
    segments = route_of(url).split("/")[1:]
    return frozenset(name for each in segments if (name := _PAGE.sub("", each)) and _ID not in name)


def _match_url_rules(url: str, profile: Profile) -> str:
    """The screen of the first matching rule with the most segments."""
    routes = _routes(url)
    rules = [(_segments(rule.pattern.lower()), rule.screen) for rule in profile.url_rules]
    matching = [rule for rule in rules if any(_matches(rule[0], route) for route in routes)]
    return max(matching, key=lambda rule: len(rule[0]))[1] if matching else ""


def _match_test_id_rules(test_ids: Sequence[str], profile: Profile) -> str:
    rules = (rule.screen for rule in profile.test_id_rules if any(fnmatchcase(each, rule.test_id) for each in test_ids))
    return next(rules, "")


def _matches(pattern: list[str], route: list[str]) -> bool:
    """Whether a route begins with whole segments of the pattern; `/` is the root alone."""
    if not pattern or len(route) < len(pattern):
        return pattern == route
    return all(wanted in ("*", segment) for wanted, segment in zip(pattern, route, strict=False))


def _routes(url: str) -> list[list[str]]:
    """The routes that rules are matched with: of the hash, and of the path unless it is empty."""
    address = _parse_url(url)
    if address is None or address.scheme in (*_SCHEMES_WITHOUT_ROUTE, *_BROWSER_SCHEMES):
        return []
    path = _segments(address.path.lower())
    if not _has_route(address):
        return [path] if address.path or address.netloc else []
    return [_hash_route(address.fragment.lower()), *([path] if path else [])]


def _parse_url(url: str) -> SplitResult | None:
    try:
        return urlsplit(url[:_LONGEST_URL].strip()) if url.strip() else None
    except ValueError:  # what a page reports need not be a valid URL
        return None


def _has_route(address: SplitResult) -> bool:
    return address.fragment.startswith(("/", "!/"))


def _hash_route(fragment: str) -> list[str]:
    return _segments(re.split(r"[?#&]", fragment.removeprefix("!"), maxsplit=1)[0])


def _segments(path: str) -> list[str]:
    return [unquote(segment) for segment in path.split("/") if segment]


def _route_segments(address: SplitResult) -> list[str]:
    """The segments of a route, without the name of a page that only carries a hash route."""
    path = _segments(address.path)
    is_file = address.scheme == "file"
    if not _has_route(address):
        return path[-_FILE_SEGMENTS:] if is_file else path[:_MOST_SEGMENTS]
    base = [] if is_file else [segment for segment in path if not _PAGE.search(segment)]
    return [*base, *_hash_route(address.fragment)][:_MOST_SEGMENTS]


def _mask_data(segment: str) -> str:
    if len(segment) > _LONGEST_SEGMENT or _DATA.fullmatch(segment) or _RANDOM.fullmatch(segment):
        return _ID
    return "".join(_ID if _OPAQUE.fullmatch(part) else part.lower() for part in _PARTS.split(segment))


def _infer_screen(url: str, a11y: Sequence[Mapping[str, Any]]) -> str:
    """The route and the title of the page: of its open dialog, its heading, or its main part."""
    route = route_of(url)
    name = _dialog_name(a11y) or _page_title(url, route, a11y)
    return " · ".join(filter(None, (route, name)))[:_LONGEST]


def _dialog_name(a11y: Sequence[Mapping[str, Any]]) -> str:
    """The name of the last open dialog, or of the heading in it."""
    dialogs = [node for node in a11y if node.get("role") in _DIALOGS and not _CONSENT.search(_name(node))]
    if not dialogs:
        return ""
    inside = (
        _name(node) for node in a11y if node.get("role") == "heading" and not _ancestors(node).isdisjoint(_DIALOGS)
    )
    return _slug(_name(dialogs[-1]) or next(inside, "")) or _DIALOGS[0]


def _page_title(url: str, route: str, a11y: Sequence[Mapping[str, Any]]) -> str:
    """The title of the page, if it adds words to the route and is no data."""
    address = _parse_url(url)
    asked = " ".join(value for _, value in parse_qsl(address.query)) if address else ""
    title = next(filter(None, (_slug(name, _stems(asked)) for name in _title_candidates(route, a11y))), "")
    new_words = _stems(title) - _stems(route) - _FILLERS
    is_data = route.endswith(_ID) and not new_words <= _ACTION_WORDS
    return title if new_words and not is_data else ""


def _title_candidates(route: str, a11y: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Candidates for the title of the page, best first."""
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
    """The roles of a node's ancestors, with which the entries of its path begin."""
    return {str(entry).split(" ")[0].split(":")[0] for entry in node.get("path") or ()}


def _slug(name: str, asked: frozenset[str] = frozenset()) -> str:
    """The words of a name without data: quotes, addresses, numbers, dates, query words."""
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
