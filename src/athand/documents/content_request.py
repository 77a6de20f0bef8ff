"""The request of `search_content`: checked arguments, or those in a continuation token."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from athand.documents.cursors import Cursors
from athand.documents.globs import check_path
from athand.errors import InvalidInput
from athand.inputs import check_count, check_fraction, check_limit, check_text

KIND = "search_content"
MAX_RESULTS = 50
DEFAULT_MIN_SCORE = 0.5  # with concepts; without them 0
_MAX_CONCEPTS = 16
_MAX_CONCEPT_BYTES = 4_000
_MAX_TOKENS = 1_000_000

Position = tuple[float, int, int, str, str, int, str]  # sort key of a match; see `content_search._to_match`


@dataclass(frozen=True, slots=True)
class ContentSearchRequest:
    """A content search; `after` is the sort key of the last match on the page before."""

    folder_ids: tuple[str, ...] | None = None
    concepts: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    min_score: float = 0.0
    limit: int = 10
    max_tokens: int | None = None
    path: str | None = None
    after: Position | None = None
    generations: tuple[tuple[str, int], ...] = ()

    def cursor(self, cursors: Cursors, after: Position, generations: tuple[tuple[str, int], ...]) -> str:
        """The continuation token of the page after a match."""
        return cursors.encode(KIND, asdict(replace(self, after=after, generations=generations)))

    @property
    def query_key(self) -> "ContentSearchRequest":
        """The request without paging, equal for all pages of a search."""
        return replace(self, after=None, generations=(), limit=10, max_tokens=None)


def parse_request(given: dict[str, Any], cursors: Cursors) -> ContentSearchRequest:
    """Checks the arguments, or decodes the token; arguments beside a token must equal those it holds."""
    token = given.pop("continuation_token")
    if token is None:
        return _check_arguments(**given)
    request = _from_cursor(cursors.decode(KIND, token))
    for name, value in given.items():
        if not _is_default(name, value) and _check_argument(name, value) != getattr(request, _NAMES.get(name, name)):
            raise InvalidInput(f"{name} differs from the search that the continuation_token continues. Leave it out.")
    return request


_NAMES = {"folder_id": "folder_ids", "semantic_concepts": "concepts", "exact_terms": "terms"}


def _is_default(name: str, value: Any) -> bool:
    """Whether an argument has its default value or is empty."""
    return value is None or (isinstance(value, (str, list, tuple)) and not value) or (name == "limit" and value == 10)


def _check_argument(name: str, value: Any) -> Any:
    """The normalised value of an argument; raises InvalidInput that names it."""
    if name == "folder_id":
        return _check_folder_ids(value)
    if name in _NAMES:
        return _check_texts(name, value)
    if name == "min_score":
        return check_fraction(name, value)
    if name == "limit":
        return check_limit(value, MAX_RESULTS)
    return check_path(value) if name == "path" else max(1, check_count(name, value, _MAX_TOKENS))


def _from_cursor(state: dict[str, Any]) -> ContentSearchRequest:
    """The request from a decoded cursor; it is signed, so that only lists have to become tuples."""
    fixed: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in state.items()}
    fixed["generations"] = tuple((folder, generation) for folder, generation in state["generations"])
    return ContentSearchRequest(**fixed)


def _check_arguments(
    folder_id: Any,
    semantic_concepts: Any,
    exact_terms: Any,
    min_score: Any,
    limit: Any,
    max_tokens: Any,
    path: Any,
) -> ContentSearchRequest:
    concepts = _check_texts("semantic_concepts", semantic_concepts)
    terms = _check_texts("exact_terms", exact_terms)
    if not concepts and not terms:
        raise InvalidInput("Nothing to search for: give at least one of semantic_concepts and exact_terms.")
    default_min_score = DEFAULT_MIN_SCORE if concepts else 0.0
    return ContentSearchRequest(
        _check_folder_ids(folder_id),
        concepts,
        terms,
        default_min_score if min_score is None else _check_argument("min_score", min_score),
        _check_argument("limit", limit),
        None if max_tokens is None else _check_argument("max_tokens", max_tokens),
        None if path in (None, "") else _check_argument("path", path),
    )


def _check_texts(what: str, given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidInput(f"{what} must be a list of texts, not {given!r}.")
    texts = dict.fromkeys(check_text(what, each, longest=_MAX_CONCEPT_BYTES) for each in given)
    if len(texts) > _MAX_CONCEPTS:
        raise InvalidInput(f"{what} has {len(texts)} entries; at most {_MAX_CONCEPTS} are allowed.")
    return tuple(texts)


def _check_folder_ids(given: Any) -> tuple[str, ...] | None:
    """Sorted folder ids; None for all folders."""
    listed = (given,) if isinstance(given, str) else () if given is None else given
    if not isinstance(listed, (list, tuple, set, frozenset)):
        raise InvalidInput(f"folder_id must be a name or a list of names, not {given!r}.")
    if not listed or given == "":
        return None
    return tuple(sorted({check_text("folder_id", each) for each in listed}))
