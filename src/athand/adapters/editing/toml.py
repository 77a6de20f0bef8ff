"""Adds, replaces and removes a table or a key of a TOML text with tomlkit; comments and formatting stay. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from athand.errors import BadData

if TYPE_CHECKING:
    from tomlkit import TOMLDocument
    from tomlkit.container import Container
    from tomlkit.items import InlineTable, Item, Table

_BARE_NEWLINE = re.compile(r"(?<!\r)\n")
_REMOVED = "\0\n"  # stands where a table was removed; no TOML text has it
_SEPARATOR = '["athand separator"]\n'
_REMOVED_AND_EMPTY_LINE = re.compile(rf"(?:(?<=\n)\r?\n)?{_REMOVED}")


def put_table(text: str, path: tuple[str, str], values: Mapping[str, Any]) -> str:
    """The text with a table: changed where it is, else added to an inline parent or at the end of the text."""
    from tomlkit.items import InlineTable, Table

    document = _parse(_separate(text, path))
    entries = list(_find(document, path))
    is_whole = len(entries) == 1 and not _has_dotted_keys(document, path)
    if is_whole and isinstance(entries[0], Table):
        _update(entries[0], values)
        return _render(document, text)
    for parent in _find(document, path[:1]):
        if isinstance(parent, InlineTable) or (is_whole and isinstance(parent, Table) and path[1] in parent):
            parent[path[1]] = _inline(values)
            return _render(document, text)
    _remove(document, path)
    return _append(_render(document, text), path, values)


def remove_table(text: str, path: tuple[str, str]) -> str:
    """The text without a table and the tables below it."""
    document = _parse(_separate(text, path))
    _remove(document, path)
    return _render(document, text)


def put_key(text: str, name: str, value: Any) -> str:
    """The text with a top-level key: changed where it is, else added after the last one that is no table."""
    import tomlkit
    from tomlkit.items import AoT, Table

    document = _parse(text if text.endswith("\n") or not text else f"{text}\n")
    is_table = [key and isinstance(item, AoT | Table) and not key.is_dotted() for key, item in document.body]
    if name in document or not any(is_table):
        document[name] = value
    else:  # tomlkit would put it between the first table and the comment above that table
        end = max((at + 1 for at, (key, _) in enumerate(document.body) if key and not is_table[at]), default=0)
        document.body.insert(end, (tomlkit.key(name), tomlkit.item(value)))
    return _render(document, text)


def remove_key(text: str, name: str) -> str:
    """The text without a top-level key."""
    document = _parse(text)
    document.pop(name, None)
    return _render(document, text)


def _parse(text: str) -> "TOMLDocument":
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(text)
    except (TOMLKitError, RecursionError) as error:
        raise BadData(f"The file cannot be edited: {error}. Change it by hand.") from error


def _separate(text: str, path: tuple[str, str]) -> str:
    """The text with a table of ours in front of the entry's, until `_render` removes it.

    tomlkit moves a table to its siblings if only arrays of tables are between them.
    """
    return re.sub(rf"^(?=\[{re.escape('.'.join(path))}\])", lambda _: _SEPARATOR, text, flags=re.MULTILINE)


def _render(document: "TOMLDocument", text: str) -> str:
    """The document as text, with the line ends of the text that it was parsed from.

    The empty line in front of a removed table goes with it.
    """
    new = _REMOVED_AND_EMPTY_LINE.sub("", document.as_string().replace(_SEPARATOR, ""))
    return _BARE_NEWLINE.sub("\r\n", new) if "\r\n" in text and not _BARE_NEWLINE.search(text) else new


def _find(container: "Container", path: tuple[str, ...]) -> "Iterator[Item]":
    """Every item at a path: a table may be written in several places, with headers and with dotted keys."""
    for key, item in container.body:
        if key is not None and key.key == path[0]:
            if len(path) == 1:
                yield item
            elif (inner := _container(item)) is not None:
                yield from _find(inner, path[1:])


def _container(item: "Item") -> "Container | None":
    from tomlkit.items import InlineTable, Table

    return item.value if isinstance(item, Table | InlineTable) else None


def _has_dotted_keys(container: "Container", path: tuple[str, ...]) -> bool:
    """Whether the item at a path is written as dotted keys, such as `athand.command = "x"`."""
    for key, item in container.body:
        if key is not None and key.key == path[0]:
            inner = _container(item)
            if key.is_dotted() or (len(path) > 1 and inner is not None and _has_dotted_keys(inner, path[1:])):
                return True
    return False


def _update(entry: "Table", values: Mapping[str, Any]) -> None:
    """Give a table these values and no others; comments in it and behind it stay."""
    for name in [each for each in entry if each not in values]:
        _remove(entry.value, (name,))
    body, trailing = entry.value.body, []
    while body and body[-1][0] is None:
        trailing.append(body.pop())
    for name, value in values.items():
        if name not in entry or entry[name] != value:
            entry[name] = _inline(value) if isinstance(value, Mapping) else value
    body.extend(reversed(trailing))


def _remove(container: "Container", path: tuple[str, ...]) -> None:
    """Remove the item at a path; comments behind it, which precede the next table, stay."""
    from tomlkit.items import AoT, InlineTable, Table, Whitespace

    for index, (key, item) in enumerate(container.body):
        if key is None or key.key != path[0]:
            continue
        if len(path) == 1:
            mark = _REMOVED if isinstance(item, AoT | Table) and not key.is_dotted() else ""
            container.body[index] = (None, Whitespace(mark + _trailing_comments(item), fixed=True))
        elif isinstance(item, InlineTable):
            item.pop(path[1], None)
        elif (inner := _container(item)) is not None:
            _remove(inner, path[1:])


def _trailing_comments(item: "Item") -> str:
    """The comments and empty lines at the end of a table, which belong to what comes next."""
    from tomlkit.items import AoT, Table

    if isinstance(item, AoT):
        return _trailing_comments(item.body[-1])
    if not isinstance(item, Table):
        return ""
    text = ""
    for key, each in reversed(item.value.body):
        if key is not None:
            return _trailing_comments(each) + text
        text = each.as_string() + text
    return text


def _append(text: str, path: tuple[str, str], values: Mapping[str, Any]) -> str:
    """The text with a table behind everything else."""
    import tomlkit

    table = tomlkit.table()
    for name, value in values.items():
        table.append(name, _inline(value) if isinstance(value, Mapping) else value)
    document = tomlkit.document()
    document.append(path[0], tomlkit.table(is_super_table=True).append(path[1], table))
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    new = gap + document.as_string()
    return text + (new.replace("\n", "\r\n") if "\r\n" in text else new)


def _inline(values: Mapping[str, Any]) -> "InlineTable":
    import tomlkit

    table = tomlkit.inline_table()
    table.update(values)
    return table
