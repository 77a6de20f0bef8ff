"""Text files: detection of their encoding, and of binary content."""

import re

from athand.documents.extract import Extract, UnreadableFile

_BOMS = (  # the BOM of UTF-32 begins with that of UTF-16, so it comes first
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_SINGLE_BYTE_ENCODINGS = (
    "cp1252 cp1250 cp1251 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 iso8859_2 iso8859_5 iso8859_7 koi8_r cp874 "
    "mac_roman cp437 cp850"
).split()
_DOUBLE_BYTE_ENCODINGS = "cp932 euc_jp gb18030 big5 cp949".split()
_HIGH_BYTES = re.compile(rb"[\x80-\xff]+")
_SAMPLE_LENGTH = 16_000
_NOT_STORABLE = re.compile("[\0\ud800-\udfff]")
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def read_text(data: bytes) -> Extract:
    """The decoded text of a file, with its newlines unchanged."""
    if not data:
        raise UnreadableFile("empty")
    extract = _decode_by_bom(data) or _decode_utf16_without_bom(data)
    if not extract and b"\0" in data:
        raise UnreadableFile("binary: it has NUL bytes")
    extract = extract or _decode_utf8(data) or _decode_damaged_utf8(data) or _decode_by_detection(data)
    if "\0" in extract.text:
        raise UnreadableFile("binary: it has NUL bytes")
    if not extract.text.strip():
        raise UnreadableFile("empty")
    return extract


def sniff_text(data: bytes) -> Extract:
    """The text of a file of unknown kind; anything but certain text is refused as binary."""
    if not data:
        raise UnreadableFile("empty")
    extract = _decode_by_bom(data) or _decode_utf16_without_bom(data) or (None if b"\0" in data else _decode_utf8(data))
    if not extract or extract.note or "\0" in extract.text or _looks_binary(extract.text):
        raise UnreadableFile("binary")
    if not extract.text.strip():
        raise UnreadableFile("empty")
    return extract


def make_storable(text: str) -> str:
    """The text with NUL and lone surrogates replaced by U+FFFD; offsets stay the same."""
    return _NOT_STORABLE.sub("\ufffd", text)


def _looks_binary(text: str) -> bool:
    sample = text[:_SAMPLE_LENGTH]
    return len(_CONTROL.findall(sample)) * 50 > len(sample)


def _decode_by_bom(data: bytes) -> Extract | None:
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _decode(data[len(bom) :], encoding)
    return None


def _decode(data: bytes, encoding: str, guess: str = "") -> Extract:
    """Decodes with replacement characters, whose number is in the note."""
    try:
        return Extract(data.decode(encoding), encoding=encoding, note=guess)
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
    places = max(1, text.count("\ufffd"))
    lost = f"{places:,} place{'s' if places > 1 else ''} could not be decoded as {encoding}"
    return Extract(text, encoding=encoding, note="; ".join(filter(None, (guess, lost))))


def _decode_utf16_without_bom(data: bytes) -> Extract | None:
    """UTF-16 without a BOM, recognised by NUL in every second byte, as western text has; else None."""
    sample = data[:4096]
    if len(data) % 2 or b"\0" not in sample:
        return None
    high, low = sample[0::2].count(0), sample[1::2].count(0)
    encoding = "utf-16-le" if low > high else "utf-16-be"
    if min(high, low) or max(high, low) * 2 < len(sample) // 2:
        return None
    extract = _decode(data, encoding, f"read as {encoding}, which it does not say")
    return None if "\0" in extract.text or "\ufffd" in extract.text else extract


def _decode_utf8(data: bytes) -> Extract | None:
    try:
        return Extract(data.decode("utf-8"))
    except UnicodeDecodeError:
        return None


def _decode_damaged_utf8(data: bytes) -> Extract | None:
    """UTF-8 with few broken bytes; None if too many are broken."""
    extract = _decode(data, "utf-8")
    broken = extract.text.count("\ufffd")
    good = len(extract.text) - len(extract.text.encode("ascii", "ignore")) - broken
    return extract if broken * 4 <= good else None


def _decode_by_detection(data: bytes) -> Extract:
    from charset_normalizer import from_bytes

    sample = _detection_sample(data)
    matches = from_bytes(sample, cp_isolation=_candidate_encodings(sample), threshold=0.4)
    best = matches.best()
    if best is None:
        return _decode(data, "utf-8")
    equals = (each.could_be_from_charset for each in matches if each.chaos <= best.chaos)
    encoding = "cp1252" if any("cp1252" in names for names in equals) else best.encoding
    return _decode(data, encoding, f"not valid UTF-8; read as {encoding}")


def _detection_sample(data: bytes) -> bytes:
    """Non-ASCII lines from the first invalid UTF-8 on, as a small sample for the detection."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        begin = data.rfind(b"\n", max(0, error.start - _SAMPLE_LENGTH), error.start) + 1 or error.start
        lines = data[begin : begin + _SAMPLE_LENGTH * 16].split(b"\n")
        return b"\n".join(line for line in lines if not line.isascii())[:_SAMPLE_LENGTH]
    return data[:_SAMPLE_LENGTH]


def _candidate_encodings(sample: bytes) -> list[str]:
    """The encodings to consider; double-byte ones only if most runs of high bytes are longer than one."""
    runs = _HIGH_BYTES.findall(sample)
    alone = sum(len(run) == 1 for run in runs) * 2 > len(runs)
    return _SINGLE_BYTE_ENCODINGS if alone else [*_SINGLE_BYTE_ENCODINGS, *_DOUBLE_BYTE_ENCODINGS]
