import time
import tracemalloc
from contextlib import suppress
from functools import partialmethod
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from makers import SAMPLES, docx, encrypted_pdf, epub, lying_zip, packed, paragraph, pdf

from athand.documents.extract import Extract, FileKind, UnreadableFile
from athand.documents.readers import Readers, zip_container
from athand.documents.readers.html import read_html
from athand.documents.readers.sandbox_worker import READERS, _run_reader
from athand.documents.readers.text_builder import TextBuilder
from athand.documents.readers.xml import iterate_elements
from athand.documents.readers.zip_container import ZipContainer

KINDS = sorted(READERS)
PACKED = ["docx", "xlsx", "pptx", "odt", "epub"]


@pytest.fixture(scope="module")
def readers():
    with Readers() as readers:
        yield readers


def refused(readers, kind: str, data: bytes) -> str:
    with pytest.raises(UnreadableFile) as caught:
        readers.read(FileKind(kind), data)
    return str(caught.value)


def check(extract: Extract) -> None:
    assert extract.text.strip() and "\0" not in extract.text
    extract.text.encode("utf-8")
    offsets = [mark.offset for mark in extract.markers]
    assert offsets == sorted(offsets) and all(0 <= offset <= len(extract.text) for offset in offsets)


def test_every_sample_is_read_and_there_is_one_for_every_reader(readers):
    assert sorted(SAMPLES) == KINDS
    for kind, data in SAMPLES.items():
        check(readers.read(FileKind(kind), data))


FEW_AND_MANY = pytest.mark.parametrize("examples", [15, pytest.param(60, marks=pytest.mark.slow)])


@FEW_AND_MANY
@pytest.mark.parametrize("kind", KINDS)
def test_broken_files_are_unreadable_and_nothing_else(readers, kind, examples):
    sample = SAMPLES[kind]

    @settings(max_examples=examples)
    @given(data=st.data())
    def holds(data):
        begin = data.draw(st.integers(0, len(sample) - 1))
        end = data.draw(st.integers(begin, min(len(sample), begin + 40)))
        broken = sample[:begin] + data.draw(st.binary(max_size=40)) + sample[end:]
        for hostile in (broken, sample[:begin], data.draw(st.binary(min_size=1, max_size=200))):
            try:
                check(readers.read(FileKind(kind), hostile))
            except UnreadableFile as error:
                assert str(error) and "crashed" not in str(error)

    holds()


@FEW_AND_MANY
@pytest.mark.parametrize("kind", PACKED)
def test_broken_parts_within_a_sound_archive_are_unreadable_and_nothing_else(kind, examples):
    archive = ZipContainer(SAMPLES[kind])
    whole = {name: archive.read(name) for name in archive.names()}

    @settings(max_examples=examples)
    @given(data=st.data())
    def holds(data):
        name = data.draw(st.sampled_from(sorted(whole)))
        begin = data.draw(st.integers(0, len(whole[name])))
        broken = whole[name][:begin] + data.draw(st.binary(max_size=20)) + whole[name][begin + 5 :]
        try:
            assert _run_reader(kind, packed({**whole, name: broken})).text
        except UnreadableFile as error:
            assert str(error)

    holds()


@pytest.fixture(scope="module")
def bomb():
    names = ["word/document.xml", "xl/workbook.xml", "ppt/presentation.xml", "content.xml", "META-INF/container.xml"]
    return packed({name: b"<a>" + b" " * 30_000_000 for name in names})


@pytest.mark.parametrize("kind", PACKED)
def test_a_zip_bomb_is_refused(readers, bomb, kind):
    assert "zip bomb" in refused(readers, kind, bomb)


def test_an_archive_that_lies_about_sizes_is_not_believed(readers):
    content = b"<document>" + b" " * 30_000_000
    assert "damaged" in refused(readers, "docx", lying_zip("word/document.xml", content, 100))
    assert "zip bomb" in refused(readers, "docx", lying_zip("word/document.xml", content, 4_000_000_000))


def test_many_middling_parts_together_are_limited(monkeypatch):
    monkeypatch.setattr(zip_container, "MAX_TOTAL_BYTES", 1_000_000)
    archive = ZipContainer(packed({str(at): bytes(range(256)) * 1_000 for at in range(9)}))
    with pytest.raises(UnreadableFile, match="unpacks to more than 1 MB"):
        for name in archive.names():
            archive.read(name)


def test_unpacking_stops_at_the_limit_without_taking_the_memory():
    archive = ZipContainer(packed({"a": bytes(100_000_000)}))
    tracemalloc.start()
    with pytest.raises(UnreadableFile, match="zip bomb"):
        for _ in archive.read_pieces("a"):
            pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000


def test_an_archive_of_very_many_parts_is_refused(readers):
    assert "parts" in refused(readers, "odt", packed({str(at): "" for at in range(20_001)}))


LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "prolog",
    [
        LAUGHS + "]>",
        '<!DOCTYPE x [<!ENTITY i SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE x [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>',
    ],
)
def test_entities_are_refused(readers, prolog):
    assert "document type" in refused(readers, "docx", docx(paragraph("&i;"), prolog=prolog))


def test_a_foreign_document_type_is_not_fetched(readers):
    prolog = '<!DOCTYPE x SYSTEM "file:///etc/passwd">'
    assert "root:" not in readers.read(FileKind("docx"), docx(paragraph("text &i;"), prolog=prolog)).text


def test_a_book_cannot_reach_out_of_its_archive(readers):
    listing = {"META-INF/container.xml": '<container><rootfile full-path="../../../../etc/passwd"/></container>'}
    assert "no part" in refused(readers, "epub", epub(["<p>x"], more=listing))


@pytest.mark.parametrize("depth", [10_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_deep_nesting_is_refused(readers, depth):
    assert "deeper" in refused(readers, "docx", docx("<w:p>" * depth + "</w:p>" * depth))
    assert "deeply" in refused(readers, "notebook", b'{"cells":' + b"[" * depth + b"]" * depth + b"}")
    assert readers.read(FileKind("html"), b"<div><ul><li>" * depth + b"x").text.strip() == "- x"


@pytest.mark.parametrize("times", [20_000, pytest.param(80_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "unit",
    [
        "<!--",
        "<a",
        "<a '",
        "</a '>",
        "<![CDATA[",
        "<",
        "&",
        "&#9",
        "<nav>",
        "<svg><nav>",
        "<ul><li>",
        "<script>",
        "<td>x<h1>",
    ],
)
def test_a_hostile_page_takes_time_in_proportion_to_its_size(unit, times):
    def seconds(times: int) -> float:
        begin = time.process_time()
        with suppress(UnreadableFile):
            read_html((unit * times).encode())
        return time.process_time() - begin

    small = min(seconds(times // 8) for _ in range(3))
    assert seconds(times) < 24 * small + 0.2  # three times as much as in proportion


def test_absurd_numbers_name_no_character(readers):
    assert readers.read(FileKind("html"), b"a&#" + b"9" * 1_000_000 + b";b").text == "a\ufffdb"


def test_an_encrypted_pdf_says_so(readers):
    assert refused(readers, "pdf", encrypted_pdf()) == "encrypted: it needs a password"


def test_a_truncated_pdf_is_read_as_far_as_it_goes_or_refused(readers):
    whole = pdf(["first page", "second page"])
    assert readers.read(FileKind("pdf"), whole[: whole.rindex(b"startxref")]).text.startswith("first page")
    assert refused(readers, "pdf", whole[:40]) == "damaged: it is not a whole PDF"


@pytest.mark.parametrize("kind", ["docx", "xlsx", "pptx"])
def test_an_encrypted_office_file_says_so(readers, kind):
    assert "encrypted" in refused(readers, kind, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1_000))


def test_an_encrypted_opendocument_says_so(readers):
    manifest = "<manifest><file-entry><encryption-data/></file-entry></manifest>"
    data = packed({"META-INF/manifest.xml": manifest, "content.xml": b"\x01\x02\x03"})
    assert refused(readers, "odt", data) == "encrypted: it needs a password"


def test_halves_of_characters_and_nul_never_come_through(readers):
    data = b'{"cells": [{"cell_type": "markdown", "source": "# a\\ud800\\u0000b"}]}'
    extract = readers.read(FileKind("notebook"), data)
    assert extract.text == "# a\ufffd\ufffdb" and extract.markers[1].label == "a\ufffd\ufffdb"


@pytest.mark.slow
def test_a_text_of_very_many_characters_is_cut_and_says_so(readers):
    extract = readers.read(FileKind("html"), b"<p>" + b"word " * 5_000_000)
    assert len(extract.text) == 20_000_000 and extract.note == "only the first 20,000,000 characters"


def test_a_text_of_more_characters_than_are_kept_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr(TextBuilder, "__init__", partialmethod(TextBuilder.__init__, max_characters=1_000))
    extract = read_html(b"<p>" + b"word " * 500)
    assert len(extract.text) == 1_000 and extract.note == "only the first 1,000 characters"


def test_xml_in_other_encodings_is_read_and_unknown_ones_are_refused():
    text = '<?xml version="1.0" encoding="{}"?><p>größe</p>'
    nodes = iterate_elements(BytesIO(text.format("utf-16").encode("utf-16")), ("p",))
    assert [node.text() for node in nodes] == ["größe"]
    with pytest.raises(UnreadableFile, match="XML is broken"):
        list(iterate_elements([text.format("nonsense").encode()], ("p",)))
