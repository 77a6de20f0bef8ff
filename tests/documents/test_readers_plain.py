import codecs
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from athand.documents.extract import FileKind, UnreadableFile
from athand.documents.readers import MAX_CHARACTERS, Readers

TEXT = FileKind("text")
GERMAN = "Die Straße führt über Höhen, größere Wälder und schöne Täler. Äpfel und Öl sind teuer geworden.\n"


@pytest.fixture(scope="module")
def readers():
    with Readers() as readers:
        yield readers


def test_utf8_is_read_as_it_is(readers):
    extract = readers.read(TEXT, "Grüße 😀\r\nzweite\rdritte\n".encode())
    assert (extract.text, extract.encoding, extract.note) == ("Grüße 😀\r\nzweite\rdritte\n", "utf-8", "")


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides(readers, mark, encoding):
    extract = readers.read(TEXT, mark + "Grüße 😀\r\n".encode(encoding))
    assert (extract.text, extract.encoding, extract.note) == ("Grüße 😀\r\n", encoding, "")


def test_utf16_without_a_mark_is_seen(readers):
    extract = readers.read(TEXT, "Some plain words\n".encode("utf-16-le"))
    assert extract.text == "Some plain words\n" and "utf-16-le" in extract.note


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "cp1252"),
        ("L'été dernier, le garçon a mangé des gâteaux à la crème, près de l'église.", "cp1252"),
        ("Привет, мир! Это проверка кодировки текста.", "cp1251"),
        ("Привет, мир! Это проверка кодировки текста.", "koi8_r"),
        ("これは日本語のテキストです。文字コードの検出を試します。", "shift_jis"),
        ("这是一个中文文本。它用来测试编码检测。", "gb18030"),
        ("Zażółć gęślą jaźń. Święty Łukasz pije źródlaną wodę.", "cp1250"),
    ],
)
def test_other_encodings_are_guessed_and_the_note_says_so(readers, text, encoding):
    extract = readers.read(TEXT, text.encode(encoding))
    assert extract.text == text
    assert extract.note == f"not valid UTF-8; read as {extract.encoding}"


def test_a_few_broken_bytes_do_not_spoil_utf8(readers):
    extract = readers.read(TEXT, GERMAN.encode() + b"\xff\xfe" + GERMAN.encode())
    assert extract.text == GERMAN + "\ufffd\ufffd" + GERMAN
    assert extract.note == "2 places could not be decoded as utf-8"


def test_a_foreign_byte_late_in_a_big_file_is_guessed_quickly(readers):
    data = b"plain words without accents\n" * 300_000 + GERMAN.encode("cp1252")
    begin = time.process_time()
    extract = readers.read(TEXT, data)
    assert extract.text.endswith(GERMAN) and extract.encoding == "cp1252"
    assert time.process_time() - begin < 5  # a hundred times what it takes


@pytest.mark.parametrize("kind", [TEXT, FileKind("code", "c"), FileKind("pdf"), None])
def test_an_empty_file_is_unreadable(readers, kind):
    with pytest.raises(UnreadableFile, match="empty"):
        readers.read(kind, b"")


@pytest.mark.parametrize("data", [b" \n\t\n", codecs.BOM_UTF8, codecs.BOM_UTF16_LE])
def test_nothing_but_white_space_is_empty(readers, data):
    with pytest.raises(UnreadableFile, match="empty"):
        readers.read(TEXT, data)


@pytest.mark.parametrize("data", [b"abc\0def", codecs.BOM_UTF16_LE + b"a\0\0\0b\0", codecs.BOM_UTF8 + b"a\0"])
def test_nul_bytes_are_binary(readers, data):
    with pytest.raises(UnreadableFile, match="binary: it has NUL bytes"):
        readers.read(TEXT, data)


def test_an_unknown_file_is_read_when_it_is_text(readers):
    assert readers.read(None, "#!/usr/bin/env foo\nGrüße\n".encode()).text.endswith("Grüße\n")


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x1a\n\0\0", b"\xff\xd8\xff\xe0JFIF", GERMAN.encode("cp1252"), b"\x01\x02a" * 50]
)
def test_an_unknown_file_is_binary_when_in_doubt(readers, data):
    with pytest.raises(UnreadableFile, match=r"^binary$"):
        readers.read(None, data)


def test_a_very_long_text_is_cut_and_says_so(readers):
    extract = readers.read(TEXT, b"0123456789" * (MAX_CHARACTERS // 10 + 1))
    assert len(extract.text) == MAX_CHARACTERS and extract.note == "only the first 20,000,000 characters"


@given(
    st.binary(min_size=1, max_size=300), st.sampled_from([TEXT, FileKind("table", "csv"), FileKind("code", "go"), None])
)
def test_random_bytes_are_storable_text_or_unreadable(data, kind):
    with Readers() as readers:
        try:
            extract = readers.read(kind, data)
        except UnreadableFile:
            return
    assert "\0" not in extract.text
    extract.text.encode("utf-8")


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(str.strip))
def test_every_utf8_text_comes_back_unchanged(text):
    if not text.startswith("\ufeff"):
        assert Readers().read(TEXT, text.encode()).text == text
