"""Key phrases are chosen when documents are indexed, and only hits that are returned are filled in."""

import pytest

from athand.documents import rows, search

WORDS = "harbour lighthouse trawler barnacle pilotage breakwater capstan fairway".split()


def page(word):
    return f"# {word.title()}\n\n" + f"The {word} belongs to the shipping company. A {word} needs repairs.\n\n" * 4


def keywords(documents):
    return {each.document_id: each.keywords for each in documents.list_documents("project", limit=500)}


@pytest.fixture
def count(monkeypatch):
    """How often a function was called since it was counted."""

    def count(module, name):
        calls, original = [], getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given: calls.append(name) or original(*given))
        return calls

    return count


def test_what_is_in_every_document_of_a_folder_comes_after_what_is_rare(documents, tree):
    documents.add(tree.write_all({f"{word}.md": page(word) for word in WORDS}))
    for word in WORDS:
        phrases = [phrase.lower() for phrase in keywords(documents)[f"{word}.md"]]
        assert word in phrases[0]
        assert phrases.index("shipping company") > 0


def test_a_search_shows_key_phrases_without_choosing_any(documents, tree, count):
    documents.add(tree.write_all({f"{word}.md": page(word) for word in WORDS}))
    chosen = count(rows, "choose_by_frequency")
    [hit] = documents.search("who repairs the trawler?", limit=1)
    [result] = documents.search_content(exact_terms=["trawler"], limit=1).data.results
    [document] = documents.find_documents("trawler", limit=1)
    known = keywords(documents)[hit.item.document_id]
    assert hit.keywords == result.document_keywords == document.keywords == known
    assert known and not chosen


def test_a_folder_that_has_grown_much_has_all_its_key_phrases_chosen_anew(documents, tree):
    documents.add(tree.write("trawler.md", page("trawler")))
    tree.write_all({f"{word}.md": page(word) for word in WORDS})
    documents.refresh("project")
    before = keywords(documents)
    documents.reindex()
    assert keywords(documents) == before


def test_a_small_change_of_a_folder_chooses_only_for_the_documents_that_changed(documents, tree, count):
    documents.add(tree.write_all({f"{word}.md": page(word) for word in WORDS}))
    before, chosen = keywords(documents), count(rows, "choose_by_frequency")
    tree.write("trawler.md", page("anchor"))
    documents.refresh("project")
    assert len(chosen) == 1
    assert "anchor" in " ".join(keywords(documents)["trawler.md"]).lower()
    assert {**keywords(documents), "trawler.md": ()} == {**before, "trawler.md": ()}


def test_reindexing_makes_key_phrases_again(documents, athand, tree):
    documents.add(tree.write_all({f"{word}.md": page(word) for word in WORDS}))
    before = keywords(documents)
    with athand._store.transaction() as transaction:
        transaction.execute("UPDATE documents SET key_phrases = '[]'")
    assert set(keywords(documents).values()) == {()}
    documents.reindex()
    assert keywords(documents) == before


def test_only_the_hits_that_are_returned_are_filled_in(documents, tree, count):
    documents.add(tree.write_all({f"{word}.md": page(word) for word in WORDS}))
    excerpts, documents_read = count(search, "excerpts"), count(rows, "to_document")
    assert len(documents.search("the shipping company", limit=3)) == len(excerpts) == 3
    assert 1 <= len(documents_read) <= 3
    documents_read.clear()
    assert len(documents.find_documents("the shipping company", limit=3).documents) == len(documents_read) == 3
