"""Looking around in folders and reading documents: exact text, pages, neighbours, and nothing from outside."""

import pytest
from tests.engines import one_engine

from athand import Athand
from athand.errors import Conflict, InvalidInput, NotFound

LONG = "# Guide\n\n" + "\n\n".join(
    f"## Part {number}\n\n" + " ".join(f"Sentence {number}.{at} says something." for at in range(60))
    for number in range(12)
)
TEXTS = {
    "plain.txt": "one\ntwo\nthree\n",
    "open.txt": "no newline at the end",
    "crlf.txt": "one\r\ntwo\r\n\r\nfour\r\n",
    "blank.txt": "\n\n\nfirst words\n\n\n\nlast words\n\n\n",
    "long.md": LONG,
    "code.py": "import os\n\n\n"
    + "\n\n".join(f"def function_{n}(a, b):\n    return a + b + {n}\n" for n in range(120)),
    "line.txt": "".join(chr(97 + n % 26) * 7 + " " for n in range(50_000)),
    "solid.txt": "x" * 50_000,
    "table.csv": "a,b,c\n" + "".join(f"{n},{n * n},text {n}\n" for n in range(800)),
    "unicode.txt": "naïve 東京 🚀\n" * 300,
    "tabs.txt": "\tindented\n\x0bvertical\x0cform\u2028separator\x85next\n" * 20,
    "data.json": '{"key": [1, 2, 3],\n "other": "value"}\n',
}


@pytest.fixture
def folder(documents, tree):
    """A few of the texts, to be changed."""
    tree.write_all({f"texts/{name}": TEXTS[name] for name in ("plain.txt", "long.md", "code.py")})
    return documents.add(tree).folder_id


@pytest.fixture(scope="module")
def texts_of_each(tmp_path_factory, module_postgres_url):
    """All of them on each engine, to be read."""
    root = tmp_path_factory.mktemp("browsing")
    (root / "texts").mkdir()
    for name, text in TEXTS.items():
        (root / "texts" / name).write_bytes(text.encode())
    with Athand(":memory:") as sqlite, Athand(module_postgres_url) as server:
        for opened in (sqlite, server):
            opened.documents._cursors  # noqa: B018
            opened.documents.add(root, folder_id="project")
        yield {"sqlite": sqlite.documents, "postgres": server.documents}


@pytest.fixture(params=["sqlite", "postgres"])
def texts(request, texts_of_each):
    return texts_of_each[request.param]


def windows(documents, folder, path, **asked):
    page = documents.get_document_text(folder, path, **asked)
    yield page
    size = {"max_chars": asked["max_chars"]} if "max_chars" in asked else {}
    while page.continuation.next_token:
        page = documents.get_document_text(folder, path, continuation_token=page.continuation.next_token, **size)
        yield page


class TestText:
    def test_the_windows_together_are_exactly_the_file(self, texts):
        for name, text in TEXTS.items():
            pages = list(windows(texts, "project", f"texts/{name}", max_chars=100_000))
            assert "".join(page.text for page in pages) == text, name
            assert {page.characters for page in pages} == {len(text)}
            assert [page.start_offset for page in pages[1:]] == [page.end_offset for page in pages[:-1]]
            assert (pages[0].start_offset, pages[-1].end_offset) == (0, len(text))

    @pytest.mark.parametrize("size", [1, 7, 64])
    def test_small_windows_know_their_lines(self, texts, size):
        for name in ("plain.txt", "open.txt", "crlf.txt", "blank.txt"):
            text = TEXTS[name]
            for page in windows(texts, "project", f"texts/{name}", max_chars=size):
                assert page.text == text[page.start_offset : page.end_offset]
                assert page.start_line == 1 + text.count("\n", 0, page.start_offset)
                assert page.end_line == page.start_line + page.text[:-1].count("\n")

    def test_windows_inside_of_long_texts_know_their_lines(self, texts):
        for name in ("long.md", "code.py", "table.csv", "unicode.txt"):
            text = TEXTS[name]
            for page in windows(texts, "project", f"texts/{name}", max_chars=1777):
                assert page.text == text[page.start_offset : page.end_offset]
                assert page.start_line == 1 + text.count("\n", 0, page.start_offset)

    def test_a_range_of_lines_is_exactly_these_lines(self, texts):
        for name in ("plain.txt", "open.txt", "crlf.txt", "blank.txt", "long.md", "code.py", "table.csv"):
            lines = TEXTS[name].split("\n")
            lines = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
            assert texts.get_document_text("project", f"texts/{name}").lines == len(lines)
            for first, last in ((1, 1), (2, 3), (1, len(lines)), (len(lines), len(lines)), (7, 40), (300, 310)):
                page = texts.get_document_text(
                    "project", f"texts/{name}", start_line=first, end_line=last, max_chars=200_000
                )
                assert page.text == "".join(lines[first - 1 : last]), (name, first, last)
                if page.text:
                    assert page.start_line == first
                    assert page.end_line == min(last, len(lines))

    def test_lines_beyond_the_end_are_empty_and_an_open_end_goes_to_it(self, texts):
        assert texts.get_document_text("project", "texts/plain.txt", start_line=99).text == ""
        assert texts.get_document_text("project", "texts/plain.txt", start_line=2).text == "two\nthree\n"
        assert texts.get_document_text("project", "texts/plain.txt", end_line=2).text == "one\ntwo\n"

    def test_a_range_of_lines_is_paged_and_ends_where_it_should(self, texts):
        pages = list(windows(texts, "project", "texts/table.csv", start_line=10, end_line=200, max_chars=500))
        lines = TEXTS["table.csv"].splitlines(keepends=True)
        assert "".join(page.text for page in pages) == "".join(lines[9:200])
        assert len(pages) > 3

    def test_the_lines_of_a_chunk_are_in_its_range(self, texts, chunks_of):
        for chunk in chunks_of(texts):
            text = TEXTS[chunk.document_id.removeprefix("texts/")]
            assert chunk.content == text[chunk.start_offset : chunk.end_offset]
            assert chunk.start_line == 1 + text.count("\n", 0, chunk.start_offset)
            assert chunk.end_line == 1 + text.count("\n", 0, chunk.end_offset - 1)

    @one_engine
    def test_a_document_that_changes_between_two_windows_is_a_conflict(self, documents, folder, tree):
        first = documents.get_document_text(folder, "texts/long.md")
        data = documents.get_document_data(folder, "texts/code.py", limit=2)
        tree.write("texts/long.md", LONG + "more")
        tree.write("texts/code.py", "import os\n")
        with pytest.raises(Conflict, match=r"long\.md"):
            documents.get_document_text(folder, "texts/long.md", continuation_token=first.continuation.next_token)
        with pytest.raises(Conflict, match=r"code\.py"):
            documents.get_document_data(folder, "texts/code.py", continuation_token=data.continuation.next_token)

    @one_engine
    def test_a_change_elsewhere_is_none(self, documents, folder, tree):
        first = documents.get_document_text(folder, "texts/long.md")
        tree.write("texts/plain.txt", "changed")
        token = first.continuation.next_token
        assert documents.get_document_text(folder, "texts/long.md", continuation_token=token).start_offset == 5000

    def test_a_token_is_good_for_its_document_and_lines_only(self, texts):
        asked = {"start_line": 1, "end_line": 100, "max_chars": 100}
        token = texts.get_document_text("project", "texts/code.py", **asked).continuation.next_token
        expected = texts.get_document_text("project", "texts/code.py", continuation_token=token, max_chars=100)
        again = texts.get_document_text("project", "texts/code.py", continuation_token=token, **asked)
        assert (again.text, again.start_offset, again.end_line) == (
            expected.text,
            expected.start_offset,
            expected.end_line,
        )
        with pytest.raises(InvalidInput, match="another document"):
            texts.get_document_text("project", "texts/long.md", continuation_token=token)
        for changed in ({"start_line": 5}, {"end_line": 7}):
            with pytest.raises(InvalidInput, match="lines"):
                texts.get_document_text("project", "texts/code.py", continuation_token=token, **changed)

    def test_reading_the_end_of_a_long_text_costs_no_more_than_its_beginning(self, texts, monkeypatch):
        from athand.documents import browse

        read = []
        real = browse._read_between
        monkeypatch.setattr(browse, "_read_between", lambda *given: read.append(given[-1] - given[-2]) or real(*given))
        for _ in windows(texts, "project", "texts/line.txt", max_chars=100_000):
            pass
        assert sum(read) == len(TEXTS["line.txt"])


class TestIds:
    OUTSIDE = (
        *(
            "",
            "..",
            "../secret.txt",
            "texts/../../secret.txt",
            "texts/../texts/plain.txt",
            "./texts/plain.txt",
            "/texts/plain.txt",
            "/etc/passwd",
            "texts//plain.txt",
            "texts%2Fplain.txt",
            "..%2fsecret.txt",
            "texts\\plain.txt",
            "texts/plain.txt/",
            "texts/plain.txt\0",
            "texts",
            "link.txt",
            "links/passwd",
            "TEXTS/PLAIN.TXT",
        ),
    )

    @one_engine
    def test_what_is_not_in_the_folder_is_not_found_and_not_read(self, documents, folder, tree):
        (tree.root.parent / "secret.txt").write_text("secret")
        (tree.root / "link.txt").symlink_to("/etc/passwd")
        (tree.root / "links").symlink_to("/etc")
        for path in self.OUTSIDE:
            for call in (documents.get_document_text, documents.get_document_data):
                with pytest.raises((NotFound, InvalidInput)):
                    call(folder, path)

    @one_engine
    def test_links_are_listed_as_problems_and_not_followed(self, documents, folder, tree):
        (tree.root.parent / "secret.txt").write_text("zanzibar secret")
        (tree.root / "link.txt").symlink_to("../secret.txt")
        documents.refresh(folder)
        assert [(each.document_id, each.is_indexed) for each in documents.problems(folder)] == [("link.txt", False)]
        assert not documents.search_content(exact_terms=["zanzibar"]).data.results

    @pytest.mark.parametrize(
        "name", ["a b.md", "ünï.md", "quote'\".md", "100%_.md", "back\\slash.md", "[x].md", "$(x).md"]
    )
    def test_an_id_works_unchanged_in_every_call(self, documents, tree, name):
        tree.write(f"sub dir/{name}", "# Needle\n\nneedle here")
        folder = documents.add(tree).folder_id
        id_ = f"sub dir/{name}"
        [found] = documents.search_content(folder, exact_terms=["needle"]).data.results
        assert found.document_id == id_
        assert documents.search("needle", folder_id=folder)[0].item.document_id == id_
        assert documents.find_documents("needle", folder_id=folder).documents[0].document_id == id_
        assert documents.list_documents(folder).documents[0].document_id == id_
        assert documents.explore(folder, "sub dir").documents[0].document_id == id_
        assert documents.get_document_data(folder, id_).document.document_id == id_
        assert documents.get_document_text(folder, id_).text == "# Needle\n\nneedle here"
        assert documents.get_chunks(folder, [found.chunk_id])[0].document_id == id_


class TestDirectories:
    @pytest.fixture(autouse=True)
    def files(self, documents, tree):
        for path in ("a.md", "docs/b.md", "docs/api/c.md", "docs/api/d.md", "docs2/e.md", "docs0", "docs-x/f.md"):
            tree.write(path, f"# {path}\n\ntext of {path}")
        documents.add(tree)

    def test_a_directory_shows_its_subfolders_and_documents(self, documents):
        top = documents.explore("project")
        assert [(each.path, each.documents) for each in top.subfolders] == [("docs", 3), ("docs-x", 1), ("docs2", 1)]
        assert [each.document_id for each in top.documents] == ["a.md", "docs0"]
        assert top.freshness["project"]["age_seconds"] >= 0
        assert top.subfolders[0].size == sum(
            len(f"# {path}\n\ntext of {path}") for path in ("docs/b.md", *["docs/api/c.md"] * 2)
        )

    @pytest.mark.parametrize("path", ["docs", "docs/", "./docs"])
    def test_a_subfolder_is_explored_by_its_path(self, documents, path):
        inside = documents.explore("project", path)
        assert inside.path == "docs"
        assert [(each.path, each.documents) for each in inside.subfolders] == [("docs/api", 2)]
        assert [each.document_id for each in inside.documents] == ["docs/b.md"]

    @one_engine
    def test_what_was_shown_can_be_explored(self, documents):
        for subfolder in documents.explore("project").subfolders:
            shown = documents.explore("project", subfolder.path)
            assert len(shown.documents) + sum(each.documents for each in shown.subfolders) == subfolder.documents

    @pytest.mark.parametrize("path", ["nowhere", "..", "../project", "docs/..", "do", "a.md", "docs%2Fapi", "docs\0"])
    def test_another_directory_is_not_found(self, documents, path):
        with pytest.raises(NotFound):
            documents.explore("project", path)

    def test_the_list_is_paged_in_the_order_of_paths(self, documents):
        expected = sorted(["a.md", "docs/b.md", "docs/api/c.md", "docs/api/d.md", "docs2/e.md", "docs0", "docs-x/f.md"])
        for limit in (1, 2, 3, 7, 50):
            page = documents.list_documents("project", limit=limit)
            pages = [page]
            while page.continuation.next_token:
                page = documents.list_documents("project", limit=limit, continuation_token=page.continuation.next_token)
                pages.append(page)
            assert [each.document_id for page in pages for each in page] == expected
            assert {page.total for page in pages} == {7}
            assert len(pages) == -(-7 // limit)

    def test_the_list_keeps_to_a_directory_or_pattern(self, documents):
        listed = documents.list_documents("project", "docs/**/*.md")
        assert [each.document_id for each in listed] == ["docs/api/c.md", "docs/api/d.md", "docs/b.md"]
        assert listed.total == 3
        assert documents.list_documents("project", "docs/api").total == 2
        assert documents.list_documents("project", "nowhere").total == 0
        first = documents.list_documents("project", "docs/**/*.md", limit=2)
        token = first.continuation.next_token
        assert [each.document_id for each in documents.list_documents("project", continuation_token=token)] == [
            "docs/b.md"
        ]
        with pytest.raises(InvalidInput):
            documents.list_documents("project", "docs2", continuation_token=token)

    def test_a_list_goes_on_after_what_was_shown_while_files_change(self, documents, tree):
        first = documents.list_documents("project", limit=3)
        tree.remove("docs/api/d.md")
        tree.write("docs/api/x.md", "new")
        tree.write("0.md", "new")
        rest = documents.list_documents("project", continuation_token=first.continuation.next_token)
        assert [each.document_id for each in rest] == ["docs/api/x.md", "docs/b.md", "docs0", "docs2/e.md"]


class TestData:
    def test_a_document_is_described(self, texts):
        data = texts.get_document_data("project", "texts/long.md")
        assert data.document.title == "Guide"
        assert data.document.kind == "markdown"
        assert data.document.size == len(LONG)
        assert data.characters == len(LONG)
        assert data.encoding == "utf-8"
        assert data.problem is None
        lines = LONG.split("\n")
        assert [each.title for each in data.outline] == ["Guide", *(f"Part {number}" for number in range(12))]
        for heading in data.outline:
            assert lines[heading.line - 1].strip("# ") == heading.title
        assert data.freshness["project"]["state"] == "ready"
        assert data.to_dict()["document"]["keywords"] == list(data.document.keywords)

    def test_its_chunks_are_listed_page_by_page_with_previews(self, texts):
        whole = texts.get_document_data("project", "texts/code.py", limit=500)
        assert len(whole.chunks) == whole.document.chunk_count >= 4
        page = texts.get_document_data("project", "texts/code.py", limit=1)
        pages = [page]
        while page.continuation.next_token:
            page = texts.get_document_data(
                "project", "texts/code.py", limit=1, continuation_token=page.continuation.next_token
            )
            pages.append(page)
        assert tuple(each for page in pages for each in page.chunks) == whole.chunks
        assert [each.chunk_index for each in whole.chunks] == list(range(len(whole.chunks)))
        for each in whole.chunks:
            [chunk] = texts.get_chunks("project", [each.chunk_id])
            assert " ".join(chunk.content.split()).startswith(each.preview.rstrip("…"))
            assert len(each.preview) <= 120

    def test_chunks_come_with_their_neighbours_in_order_each_once(self, texts):
        chunks = texts.get_document_data("project", "texts/code.py", limit=500).chunks
        ids = [each.chunk_id for each in chunks]
        assert [each.chunk_id for each in texts.get_chunks("project", [ids[2]], neighbours=1)] == ids[1:4]
        assert [each.chunk_id for each in texts.get_chunks("project", [ids[0]], 2)] == ids[:3]
        assert [each.chunk_id for each in texts.get_chunks("project", [ids[-1]], 1)] == ids[-2:]
        assert [each.chunk_id for each in texts.get_chunks("project", [ids[3], ids[2], ids[3]], 1)] == ids[1:5]
        assert [each.chunk_id for each in texts.get_chunks("project", ids[1])] == [ids[1]]

    @one_engine
    def test_a_chunk_that_is_gone_is_not_found(self, documents, folder, tree):
        [chunk] = documents.get_document_data(folder, "texts/plain.txt").chunks
        tree.write("texts/plain.txt", "other text")
        for id_ in (chunk.chunk_id, "nothing", "\ud800", "\0", "' OR 1=1 --"):
            with pytest.raises(NotFound):
                documents.get_chunks(folder, [id_])

    @one_engine
    def test_what_is_not_quite_right_with_a_document_is_said(self, documents, tree):
        tree.write("latin.txt", "Käse und Brötchen für Jürgen, größer als über".encode("cp1252"))
        folder = documents.add(tree).folder_id
        data = documents.get_document_data(folder, "latin.txt")
        assert data.encoding == "cp1252"
        assert "cp1252" in data.problem
        assert documents.search_content(exact_terms=["brötchen"]).data.results
