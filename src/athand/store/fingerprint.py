"""One hash over rows, whichever engine they come from."""

import hashlib
from collections.abc import Iterable
from typing import Any


def digest(*groups: Iterable[tuple[Any, ...]]) -> str:
    """Equal for the same rows in the same order."""
    hashed = hashlib.sha256()
    for rows in groups:
        for row in rows:
            hashed.update(repr(row).encode())
    return hashed.hexdigest()
