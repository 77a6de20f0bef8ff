"""Natural questions: search and find_documents."""

import numpy as np
import pytest
from tests.engines import one_engine

from athand.documents.scoring import repetition_factor
from athand.errors import InvalidInput
from athand.types import Candidate

FILES = {
    "docs/deploy.md": "# Deploying\n\nTo deploy the shop, connect to the VPN and run the release script.",
    "docs/bread.md": "# Bread\n\nSourdough bread is baked in a hot oven with steam.",
    "src/pool.py": "class ConnectionPool:\n    '''Keeps connections to postgres open.'''\n\n    limit = 8\n",
    "notes/zebra.txt": "The zebra crossing near the school was painted again.",
}


@pytest.fixture
def folder(documents, tree):
    tree.write_all(FILES)
    return documents.add(tree).folder_id


def test_a_question_finds_its_passage_with_reasons(documents, folder):
    hits = documents.search("how do I deploy the shop?")
    best = hits[0]
    assert best.item.document_id == "docs/deploy.md"
    assert best.corpus == "documents"
    assert best.id == best.item.chunk_id
    assert best.text == best.item.content == FILES["docs/deploy.md"]
    assert (best.item.start_line, best.item.end_line) == (1, 3)
    assert best.item.heading == ("Deploying",)
    assert 0 < best.score <= 1
    assert best.why.total == pytest.approx(sum(each.contribution for each in best.why.signals.values()))
    assert best.why.matched
    assert "deploy" in str(best.why)
    assert [hit.why.total for hit in hits] == sorted((hit.why.total for hit in hits), reverse=True)


def test_a_definition_is_found_by_its_name(documents, folder):
    for query in ("ConnectionPool", "connection pool", "class that keeps postgres connections"):
        assert documents.search(query)[0].item.document_id == "src/pool.py"


CODE = {
    "src/settings.py": "def load_settings(path):\n    '''Reads the file.'''\n    return parse(path)\n",
    "src/start.py": "def start(path):\n    settings = load_settings(path)\n    return run(load_settings, settings)\n",
    "src/again.py": "def again():\n    # load_settings and load_settings\n    return load_settings('.')\n",
    "src/retries.py": "def wait(attempt):\n    '''How long before the next request.'''\n    return 2 ** attempt\n",
    "src/client.py": "def request(attempt):\n    '''How long before the next request.'''\n    return 2 ** attempt\n",
}


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("load_settings", "src/settings.py"),
        ("what does load_settings() do", "src/settings.py"),
        ("how does `load_settings` work", "src/settings.py"),
        ("retries: how long before the next request", "src/retries.py"),
    ],
)
@one_engine
def test_code_that_defines_what_is_named_is_before_code_that_uses_it(documents, tree, location, question, first):
    tree.write_all(CODE)
    documents.add(tree)
    assert documents.search(question)[0].item.document_id == first


def test_the_best_chunk_of_another_file_is_before_a_further_chunk_that_is_little_better():
    passages = [Candidate(id_, item, "folder", ("",) * 4, 0) for id_, item in (("a", "x"), ("b", "x"), ("c", "y"))]
    scores = np.array([1.0, 0.8, 0.75])
    assert (scores * repetition_factor(scores, passages).factor).tolist() == [1.0, pytest.approx(0.68), 0.75]


def test_nothing_fitting_is_no_hits(documents, folder):
    for query in ("quantum chromodynamics", "why do cats purr", "translate hello to French", "train to Munich"):
        assert documents.search(query) == [], query
    assert documents.search("") == []
    assert documents.search("   ") == []


@one_engine
def test_a_hit_carries_the_age_of_its_index(documents, folder):
    hits = documents.search("bread")
    assert set(hits.freshness) == {folder}
    assert hits.freshness[folder]["age_seconds"] >= 0
    assert hits.freshness[folder]["state"] == "ready"


def test_a_typo_is_corrected_and_said(documents, folder):
    hits = documents.search("sourdoug bread")
    assert hits[0].item.document_id == "docs/bread.md"


@one_engine
def test_limits_and_least_scores_hold(documents, folder):
    assert len(documents.search("the", limit=1)) <= 1
    assert all(hit.score >= 0.6 for hit in documents.search("sourdough bread", min_score=0.6))


def test_find_documents_gives_summaries_without_content(documents, folder):
    found = documents.find_documents("sourdough bread")
    best = found.documents[0]
    assert best.document_id == "docs/bread.md"
    assert best.title == "Bread"
    assert best.chunk_count == 1
    assert best.size == len(FILES["docs/bread.md"])
    assert 0 < best.score <= 1
    assert documents.get_chunks(folder, [best.best_chunk_id])[0].document_id == best.document_id
    assert "content" not in best.to_dict()
    assert "text" not in best.to_dict()
    assert set(found.freshness) == {folder}
    assert found.total_results == len(found.documents)
    assert len(documents.find_documents("")) == 0


class TestPagesOfDocuments:
    @pytest.fixture
    def many(self, documents, tree, another_tree):
        for number in range(12):
            tree.write(f"{number:02}.md", f"# Bread {number}\n\nSourdough bread number {number} is baked with steam.")
        another_tree.write("x.md", "# Bread\n\nSourdough bread elsewhere")
        documents.add(another_tree, folder_id="elsewhere")
        return documents.add(tree, folder_id="here").folder_id

    def walk(self, documents, **asked):
        page = documents.find_documents("sourdough bread", limit=5, **asked)
        yield page
        while page.continuation.next_token:
            page = documents.find_documents(continuation_token=page.continuation.next_token, limit=5)
            yield page

    def test_every_document_comes_once_in_order(self, documents, many):
        pages = list(self.walk(documents, folder_id=many))
        paths = [each.document_id for page in pages for each in page]
        assert sorted(paths) == [f"{number:02}.md" for number in range(12)]
        scores = [each.why.total for page in pages for each in page]
        assert scores == sorted(scores, reverse=True)
        assert {page.total_results for page in pages} == {12}

    @one_engine
    def test_a_token_keeps_to_its_folder(self, documents, many):
        assert {each.folder_id for page in self.walk(documents, folder_id=many) for each in page} == {many}
        assert {each.folder_id for page in self.walk(documents) for each in page} == {many, "elsewhere"}

    @one_engine
    def test_another_question_or_folder_beside_a_token_is_refused(self, documents, many):
        token = documents.find_documents("sourdough bread", limit=5, folder_id=many).continuation.next_token
        assert len(documents.find_documents("sourdough bread", folder_id=many, limit=3, continuation_token=token)) == 3
        with pytest.raises(InvalidInput, match="query"):
            documents.find_documents("zebra", continuation_token=token)
        with pytest.raises(InvalidInput, match="folder_id"):
            documents.find_documents(folder_id="elsewhere", continuation_token=token)

    @one_engine
    def test_any_question_can_be_gone_on_with(self, documents, many):
        for query in ("sourdough bread \ud800", "sourdough bread " + "é" * 30_000):
            token = documents.find_documents(query, limit=2).continuation.next_token
            assert len(documents.find_documents(continuation_token=token, limit=2)) == 2
