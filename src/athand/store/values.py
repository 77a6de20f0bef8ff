"""Values in portable SQL: ids, times, lists of values, and a digest over rows."""

import hashlib
import secrets
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from types import UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from athand.store.contract import Row, Snapshot

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: nothing that reads as something else
_LETTERS = 18
_RANDOM_BITS = 40
_LISTED = 500  # values in one statement

NounT = TypeVar("NounT")


def new_id(now: datetime) -> str:
    """A short id that sorts by time: ten characters of milliseconds, eight random ones."""
    number = int(now.timestamp() * 1000) << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(5 * (_LETTERS - 1), -1, -5))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_microseconds(time: datetime) -> int:
    """Microseconds since 1970, UTC, of an aware time: they sort, compare and round-trip exactly."""
    return (time - _EPOCH) // timedelta(microseconds=1)


def to_datetime(microseconds: int) -> datetime:
    """The aware UTC time of such microseconds."""
    return _EPOCH + timedelta(microseconds=microseconds)


def to_datetimes(column: Iterable[int | None]) -> list[datetime | None]:
    """The aware UTC times of a column of such microseconds; None stays None."""
    return [None if each is None else _EPOCH + timedelta(microseconds=each) for each in column]


def check_types(noun: NounT) -> NounT:
    """The noun that was read from a row; a TypeError if a value is not of its field's type: the row is damaged."""
    kind = type(noun)
    for name, kinds in _types_of(cast("Hashable", kind)).items():  # mypy does not know that types are
        if not isinstance(value := getattr(noun, name), kinds):
            raise TypeError(f"{kind.__name__}.{name} cannot be a {type(value).__name__}")
    return noun


@cache
def _types_of(noun: Any) -> dict[str, tuple[type, ...]]:
    """The types that each field may have, without those of what is in it."""
    hints = get_type_hints(noun).items()
    return {
        name: tuple(get_origin(each) or each for each in (get_args(hint) if isinstance(hint, UnionType) else (hint,)))
        for name, hint in hints
    }


def one_of(column: str, values: Sequence[Any] | None, name: str = "value") -> tuple[str, dict[str, Any]]:
    """The condition that a column has one of these values, with its parameters; None allows any value."""
    if values is None:
        return "1 = 1", {}
    parameters = {f"{name}{at}": value for at, value in enumerate(values)}
    return f"{column} IN ({', '.join(f':{each}' for each in parameters) or 'NULL'})", parameters


def select_in(
    snapshot: Snapshot,
    select: str,
    column: str,
    values: Iterable[str],
    where: Mapping[str, Any] | None = None,
    spaces: Sequence[str] | None = None,
) -> list[Row]:
    """The rows whose column has one of these values and whose other columns equal those in `where`.

    Where their spaces are given, a cluster is asked only for those.
    """
    wanted, found = sorted(set(values)), []
    equal = {f"equal{at}": value for at, value in enumerate((where or {}).values())}
    also = "".join(f" AND {other} = :{name}" for other, name in zip(where or {}, equal, strict=True))
    inside, places = one_of("space", spaces, "space")
    for start in range(0, len(wanted), _LISTED):
        condition, parameters = one_of(column, wanted[start : start + _LISTED])
        found += snapshot.rows(f"{select} WHERE {condition}{also} AND {inside}", {**parameters, **equal, **places})
    return found


def digest(*groups: Iterable[tuple[Any, ...]]) -> str:
    """SHA-256 over rows, equal for the same rows in the same order on either engine."""
    hashed = hashlib.sha256()
    for rows in groups:
        for row in rows:
            hashed.update(repr(row).encode())
    return hashed.hexdigest()
