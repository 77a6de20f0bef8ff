"""Decodes hidden text: base64, hex, HTML entities, percent and Unicode escapes."""

import base64
import binascii
import html
import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote

_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,}+={0,2}")
_HEX = re.compile(r"(?:\\x[0-9a-fA-F]{2}){6,}+|(?<![0-9a-zA-Z])(?:[0-9a-fA-F]{2}){12,}+(?![0-9a-zA-Z])")
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")


def decode_parts(text: str, depth: int = 2) -> Iterator[str]:
    """All readable texts encoded in a text, recursively up to `depth`."""
    found = [_unescape(text), *map(_from_base64, islice(_BASE64.findall(text), 50))]
    found += [_from_hex(each) for each in islice(_HEX.findall(text), 50)]
    for each in found:
        if each and each != text:
            yield each
            yield from decode_parts(each, depth - 1) if depth > 1 else ()


def _unescape(text: str) -> str:
    r"""Decode HTML entities, percent encoding and `\uXXXX` escapes."""
    if "&" not in text and "%" not in text and "\\u" not in text:
        return ""
    escaped = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    return unquote(html.unescape(escaped))


def _from_base64(text: str) -> str:
    padded = text.rstrip("=").translate({ord("-"): "+", ord("_"): "/"})
    try:
        return _to_text(base64.b64decode(padded + "=" * (-len(padded) % 4)))
    except binascii.Error:
        return ""


def _from_hex(text: str) -> str:
    return _to_text(bytes.fromhex(text.replace("\\x", "")))


def _to_text(data: bytes) -> str:
    """Decode bytes as UTF-8; empty if the result has unprintable characters."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    readable = sum(char.isprintable() or char in "\n\t" for char in text)
    return text if readable == len(text) else ""
