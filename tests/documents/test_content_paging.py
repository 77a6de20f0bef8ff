"""Pages of search_content: every match once, in order, also while files change."""

import pytest
from tests.engines import one_engine

from athand import Athand
from athand.documents import content_request
from athand.errors import InvalidInput, NotFound


def ids(*answers):
    return [result.chunk_id for answer in answers for result in answer.data.results]


def places(*answers):
    return [(result.document_id, result.chunk_index) for answer in answers for result in answer.data.results]


@pytest.fixture
def folder(documents, tree):
    """Twenty documents with a needle, each more needles than the one before."""
    for number in range(20):
        tree.write(f"{number:02}.md", f"# Document {number}\n\n" + "needle " * (number + 1))
    return documents.add(tree).folder_id


def test_all_pages_together_are_every_match_once_in_order(documents, folder, walk_pages):
    for limit in (1, 3, 7, 20, 50):
        pages = list(walk_pages(documents, folder, exact_terms=["needle"], limit=limit))
        assert places(*pages) == [(f"{number:02}.md", 0) for number in reversed(range(20))]
        assert [page.continuation.has_more for page in pages] == [True] * (len(pages) - 1) + [False]
        assert all(len(page.data.results) == limit for page in pages[:-1])
        assert {page.data.statistics.total_results for page in pages} == {20}
        assert all(page.notes == () for page in pages)


@one_engine
def test_a_token_needs_nothing_beside_it_and_allows_the_same_again(documents, folder):
    asked = {"exact_terms": ["needle", "needle"], "path": "*.md", "min_score": 0.1, "limit": 3, "max_tokens": 500}
    first = documents.search_content(folder, **asked)
    token = first.continuation.next_token
    expected = ids(documents.search_content(continuation_token=token))
    assert expected
    for beside in ({}, asked, {"limit": 10}, {"exact_terms": [], "semantic_concepts": None, "path": ""}):
        for folder_id in (folder, [folder], None, "", []):
            assert ids(documents.search_content(folder_id, continuation_token=token, **beside)) == expected


@one_engine
def test_another_question_beside_a_token_is_refused(documents, folder):
    token = documents.search_content(folder, exact_terms=["needle"], limit=3).continuation.next_token
    for name, value in (
        ("exact_terms", ["other"]),
        ("exact_terms", ["needle", "more"]),
        ("exact_terms", "needle"),
        ("semantic_concepts", ["needle"]),
        ("min_score", 0.9),
        ("min_score", "0"),
        ("limit", 7),
        ("limit", True),
        ("path", "docs"),
        ("max_tokens", 5),
        ("folder_id", "other"),
        ("folder_id", 5),
    ):
        with pytest.raises(InvalidInput, match=name):
            documents.search_content(**{name: value}, continuation_token=token)


@one_engine
def test_a_token_of_another_call_or_store_is_refused(documents, folder, tree):
    token = documents.search_content(folder, exact_terms=["needle"], limit=3).continuation.next_token
    listed = documents.list_documents(folder, limit=3).continuation.next_token
    for call in (
        lambda: documents.search_content(continuation_token=listed),
        lambda: documents.list_documents(folder, continuation_token=token),
        lambda: documents.find_documents(continuation_token=token),
        lambda: documents.get_document_data(folder, "00.md", continuation_token=token),
        lambda: documents.get_document_text(folder, "00.md", continuation_token=token),
        lambda: documents.search_content(continuation_token=token[:-4]),
        lambda: documents.search_content(continuation_token=""),
        lambda: documents.search_content(continuation_token="x" * 5_000_000),
    ):
        with pytest.raises(InvalidInput, match="continuation_token"):
            call()
    with Athand(":memory:") as other:
        other.documents.add(tree)
        with pytest.raises(InvalidInput):
            other.documents.search_content(continuation_token=token)


def test_a_token_of_a_folder_that_was_removed_says_so(documents, folder):
    token = documents.search_content(folder, exact_terms=["needle"], limit=3).continuation.next_token
    documents.remove(folder)
    with pytest.raises(NotFound):
        documents.search_content(continuation_token=token)


def test_the_longest_question_can_be_gone_on_with(documents, folder):
    long = ['\x01"' * 1500 + f"{number}" for number in range(content_request._MAX_CONCEPTS - 1)]
    first = documents.search_content(folder, exact_terms=["needle", *long], limit=3)
    assert len(documents.search_content(continuation_token=first.continuation.next_token).data.results) == 3


class TestWhileFilesChange:
    def walk(self, documents, folder, change, **asked):
        """All pages, with a change between each two of them."""
        answer = documents.search_content(folder, exact_terms=["needle"], limit=4, **asked)
        answers = [answer]
        while answer.continuation.has_more:
            change(len(answers))
            answer = documents.search_content(continuation_token=answer.continuation.next_token)
            answers.append(answer)
        return answers

    def test_what_did_not_change_is_neither_repeated_nor_skipped(self, documents, folder, tree):
        before = dict(zip(*[[f"{number:02}.md" for number in range(20)]] * 2, strict=True))

        def change(page):
            tree.write(f"new{page}.md", "needle " * (6 * page))
            tree.write(f"{2 * page:02}.md", "needle needle")
            tree.remove(f"{2 * page + 1:02}.md")
            before.pop(f"{2 * page:02}.md", None)
            before.pop(f"{2 * page + 1:02}.md", None)

        answers = self.walk(documents, folder, change)
        seen = [path for path, _ in places(*answers)]
        assert set(before) <= set(seen)
        assert [seen.count(path) for path in before] == [1] * len(before)
        assert len(ids(*answers)) == len(set(ids(*answers)))
        assert not answers[0].notes
        assert all("changed" in answer.notes[0] for answer in answers[1:])

    @one_engine
    def test_the_order_holds_over_all_pages(self, documents, folder, tree):
        answers = self.walk(documents, folder, lambda page: tree.write(f"zz{page}.md", "needle " * 9))
        counts = [result.content.count("needle") for answer in answers for result in answer.data.results]
        assert counts == sorted(counts, reverse=True)

    @one_engine
    def test_removing_the_last_hit_of_a_page_loses_nothing(self, documents, folder, tree):
        answers = self.walk(documents, folder, lambda page: tree.remove(f"{20 - 4 * page:02}.md"))
        assert [path for path, _ in places(*answers)] == [f"{number:02}.md" for number in reversed(range(20))]

    @one_engine
    def test_removing_everything_that_follows_ends_the_pages(self, documents, folder, tree):
        def change(page):
            for number in range(16):
                tree.remove(f"{number:02}.md")

        answers = self.walk(documents, folder, change)
        assert [len(answer.data.results) for answer in answers] == [4, 0]
        assert answers[1].data.statistics.total_results == 4

    def test_meaning_keeps_its_order_too(self, documents, tree):
        for number in range(12):
            tree.write(f"{number:02}.md", f"# Topic {number}\n\nThe connection pool of postgres, variant {number}")
        folder = documents.add(tree).folder_id
        asked = {"semantic_concepts": ["postgres connection pool"], "limit": 5, "min_score": 0.1}
        whole = ids(documents.search_content(folder, **{**asked, "limit": 50}))
        first = documents.search_content(folder, **asked)
        tree.write("more.md", "A pool of connections to postgres")
        second = documents.search_content(continuation_token=first.continuation.next_token)
        third = documents.search_content(continuation_token=second.continuation.next_token)
        assert [id_ for id_ in ids(first, second, third) if id_ in whole] == whole

    def test_a_folder_of_the_same_name_that_was_added_again_is_another(self, documents, tree, another_tree):
        tree.write_all({"a.md": "needle one", "b.md": "needle two"})
        another_tree.write_all({"c.md": "needle three", "d.md": "needle four"})
        documents.add(tree, folder_id="same")
        first = documents.search_content("same", exact_terms=["needle"], limit=1)
        documents.remove("same")
        documents.add(another_tree, folder_id="same")
        answer = documents.search_content("same", exact_terms=["needle"], limit=1)
        assert places(answer) == [("c.md", 0)]
        late = documents.search_content(continuation_token=first.continuation.next_token)
        assert late.notes
        assert places(late) == [("c.md", 0)]


class TestMaxTokens:
    @one_engine
    def test_a_page_has_as_much_as_was_asked_for_and_at_least_one(self, documents, folder, walk_pages):
        for budget in (0, 1, 20, 100, 10_000):
            pages = list(walk_pages(documents, folder, exact_terms=["needle"], max_tokens=budget))
            assert places(*pages) == [(f"{number:02}.md", 0) for number in reversed(range(20))]
            for page in pages:
                sizes = [len(result.content) / 4 for result in page.data.results]
                assert len(sizes) == 1 or sum(sizes) <= budget
                assert page.data.statistics.total_results == 20


@one_engine
def test_a_following_page_need_not_search_again(documents, folder, monkeypatch):
    from athand.documents import content_search

    first = documents.search_content(folder, exact_terms=["needle"], limit=3)
    monkeypatch.setattr(content_search, "find_matches", None)
    second = documents.search_content(continuation_token=first.continuation.next_token)
    assert len(second.data.results) == 3
