"""What the encoded parts of a text say: base64, hex, entities and other ways to write what one is not to read."""

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
    """What encoded parts of a text say, as far as they are text."""
    found = [_unescape(text), *map(_from_base64, islice(_BASE64.findall(text), 50))]
    found += [_from_hex(each) for each in islice(_HEX.findall(text), 50)]
    for each in found:
        if each and each != text:
            yield each
            yield from decode_parts(each, depth - 1) if depth > 1 else ()


def _unescape(text: str) -> str:
    """HTML entities, percent signs and backslashes undone."""
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
    """Bytes that are text; empty for those that only happened to be decodable."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    readable = sum(char.isprintable() or char in "\n\t" for char in text)
    return text if readable == len(text) else ""
