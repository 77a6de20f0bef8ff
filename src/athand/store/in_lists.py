"""SQL for a column that has one of several values, the same for both engines."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from athand.store.contract import Row, Snapshot

_BATCH = 500  # values in one statement


def one_of(column: str, values: Sequence[Any] | None, name: str = "value") -> tuple[str, dict[str, Any]]:
    """The condition that a column has one of these values, with its parameters; None allows any value."""
    if values is None:
        return "1 = 1", {}
    parameters = {f"{name}{at}": value for at, value in enumerate(values)}
    return f"{column} IN ({', '.join(f':{each}' for each in parameters) or 'NULL'})", parameters


def select_in(
    snapshot: Snapshot, select: str, column: str, values: Iterable[str], where: Mapping[str, Any] | None = None
) -> list[Row]:
    """The rows whose column has one of these values and whose other columns equal those in `where`."""
    wanted, found = sorted(set(values)), []
    equal = {f"equal{at}": value for at, value in enumerate((where or {}).values())}
    also = "".join(f" AND {other} = :{name}" for other, name in zip(where or {}, equal, strict=True))
    for start in range(0, len(wanted), _BATCH):
        condition, parameters = one_of(column, wanted[start : start + _BATCH])
        found += snapshot.rows(f"{select} WHERE {condition}{also}", {**parameters, **equal})
    return found
