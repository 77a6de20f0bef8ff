"""Memories beside documents: what a project's folders say, and one search over both."""

import pytest
from tests.engines import one_engine

from athand.errors import InvalidInput


@pytest.fixture
def folders(tmp_path, athand):
    """A folder of a project, one of another, and one of none."""
    for name, project, text in (
        ("shop-docs", "shop", "# Deploying the shop\n\nTo deploy the shop, connect to the VPN and run release.sh."),
        ("bank-docs", "bank", "# Deploying the bank\n\nTo deploy the bank, ask the auditors and run audit.sh."),
        ("handbook", None, "# Deploying\n\nTo deploy anything, write a change request first."),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "deploy.md").write_text(text)
        (tmp_path / name / "bread.md").write_text("# Bread\n\nSourdough bread is baked in a hot oven.")
        athand.documents.add(tmp_path / name, project=project)
    return athand


def folder_ids(hits):
    return {hit.item.folder_id for hit in hits if hit.corpus == "documents"}


class TestOfMemories:
    def test_documents_of_the_project_and_of_none_are_searched(self, folders):
        hits = folders.memories.search_documents("how to deploy", project="shop")
        assert folder_ids(hits) == {"shop-docs", "handbook"}
        assert all(hit.corpus == "documents" for hit in hits)
        assert hits.freshness

    def test_without_a_project_all_are(self, folders):
        assert folder_ids(folders.memories.search_documents("how to deploy")) == {"shop-docs", "bank-docs", "handbook"}

    def test_a_project_without_folders_has_those_of_none(self, folders):
        assert folder_ids(folders.memories.search_documents("how to deploy", project="other")) == {"handbook"}

    @one_engine
    def test_limits_hold_and_are_checked(self, folders):
        assert len(folders.memories.search_documents("deploy", limit=1)) == 1
        for limit in (0, -1, True, 10**9, "5"):
            with pytest.raises(InvalidInput):
                folders.memories.search_documents("deploy", limit=limit)

    @one_engine
    def test_a_store_without_folders_finds_nothing(self, athand):
        assert athand.memories.search_documents("deploy") == []
        assert athand.memories.search_documents("deploy", project="shop") == []

    @one_engine
    def test_a_search_of_memories_can_include_them(self, folders):
        memory = folders.memories.add("We deploy the shop on Tuesdays", project="shop")
        hits = folders.memories.search("deploy the shop", project="shop", include_documents=True)
        assert hits[0].id == memory.id
        assert folder_ids(hits) == {"shop-docs", "handbook"}
        assert all(hit.corpus == "memories" for hit in folders.memories.search("deploy the shop", project="shop"))

    @one_engine
    def test_searching_documents_reinforces_nothing(self, folders):
        memory = folders.memories.add("We deploy the shop on Tuesdays", project="shop")
        folders.memories.search_documents("deploy the shop", project="shop")
        assert folders.memories.get(memory.id).access_count == memory.access_count


class TestOfEverything:
    def test_both_corpora_answer_best_first(self, folders):
        memory = folders.memories.add("We deploy the shop on Tuesdays", project="shop")
        hits = folders.search("deploy the shop")
        assert {hit.corpus for hit in hits} == {"memories", "documents"}
        assert memory.id in [hit.id for hit in hits]
        totals = [hit.why.total for hit in hits]
        assert totals == sorted(totals, reverse=True)
        assert set(hits.freshness) == {"shop-docs", "bank-docs", "handbook"}
        assert hits.facets["documents"] == len([hit for hit in hits if hit.corpus == "documents"])
        assert hits.to_dict()["hits"][0]["corpus"]

    @one_engine
    def test_nothing_is_reinforced(self, folders):
        memory = folders.memories.add("We deploy the shop on Tuesdays", project="shop")
        folders.search("deploy the shop")
        assert folders.memories.get(memory.id).access_count == memory.access_count

    @one_engine
    def test_each_document_comes_once_with_its_best_passage(self, athand, tmp_path):
        parts = (f"## Deploying part {number}\n\n" + f"Deploy step {number} again. " * 80 for number in range(6))
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs" / "long.md").write_text("# Deploying\n\n" + "\n\n".join(parts))
        (tmp_path / "docs" / "short.md").write_text("# Deploying\n\nDeploy it once.")
        athand.documents.add(tmp_path / "docs")
        assert len(athand.documents.search("deploying part", limit=10)) > 2
        hits = athand.search("deploying part")
        assert sorted(hit.item.document_id for hit in hits) == ["long.md", "short.md"]
        best = athand.documents.search("deploying part", limit=30)
        assert {hit.id for hit in hits} <= {hit.id for hit in best}
        assert next(hit for hit in hits if hit.item.document_id == "long.md").id == next(
            hit.id for hit in best if hit.item.document_id == "long.md"
        )

    def test_a_project_filters_both(self, folders):
        folders.memories.add("We deploy the shop on Tuesdays", project="shop")
        folders.memories.add("We deploy the bank never", project="bank")
        hits = folders.search("deploy", project="bank")
        assert folder_ids(hits) == {"bank-docs", "handbook"}
        assert {hit.item.project for hit in hits if hit.corpus == "memories"} == {"bank"}

    @one_engine
    def test_a_folder_or_corpus_can_be_chosen(self, folders):
        folders.memories.add("We deploy the shop on Tuesdays", project="shop")
        assert {(hit.corpus, hit.item.folder_id) for hit in folders.search("deploy", folder_id="bank-docs")} == {
            ("documents", "bank-docs")
        }
        assert {hit.corpus for hit in folders.search("deploy", corpora=["documents"])} == {"documents"}
        assert {hit.corpus for hit in folders.search("deploy", corpora=["memories"])} == {"memories"}
        with pytest.raises(InvalidInput):
            folders.search("deploy", corpora=["nonsense"])

    @one_engine
    def test_an_empty_question_finds_nothing(self, folders):
        assert folders.search("") == []
        assert folders.search("   ") == []

    @pytest.mark.parametrize("limit", [400, 1000])
    @one_engine
    def test_as_many_as_are_allowed_can_be_asked_for(self, folders, limit):
        assert folders.search("deploy", limit=limit)

    @pytest.mark.parametrize("project", ["\ud800", 5, ""])
    @one_engine
    def test_a_project_must_be_a_name(self, folders, project):
        with pytest.raises(InvalidInput):
            folders.memories.search_documents("deploy", project=project)


def test_forgetting_a_folder_leaves_memories_alone(folders):
    memory = folders.memories.add("We deploy the shop on Tuesdays", project="shop")
    folders.documents.remove("shop-docs")
    hits = folders.search("deploy the shop", project="shop")
    assert memory.id in [hit.id for hit in hits]
    assert folder_ids(hits) == {"handbook"}
    assert folders.check() == []
