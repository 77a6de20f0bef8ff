"""What every engine must do. A new engine is one more parameter of the `store` fixture."""

from dataclasses import replace

import numpy as np
import pytest

from athand.errors import Conflict
from athand.store import Index, Passage
from athand.text import stem, text_hash, tokenize
from athand.types import Filter, Query, Vectors

INDEX = Index("memories", ("content", "context"), (1.0, 0.5))
DIMENSIONS = 8
MODEL = "test-model"


def make_vector(seed):
    vector = np.random.default_rng(seed).normal(size=DIMENSIONS).astype(np.float32)
    return vector / np.linalg.norm(vector)


def make_passage(id_, text, space="default", context=""):
    return Passage(id_, id_, space, (text, context), text, created_at=1)


def make_vectors(passages, model=MODEL):
    return Vectors(model, DIMENSIONS, {text_hash(each.text): make_vector(len(each.text)) for each in passages})


def put(store, *passages, vectors=True):
    with store.transaction() as transaction:
        for each in passages:
            transaction.execute(
                "INSERT INTO memories (space, project, id, content, tags, created_at, updated_at) "
                "VALUES (:space, :space, :id, :text, '[]', 1, 1)",
                {"space": each.space, "id": each.id, "text": each.fields[0]},
            )
        transaction.put(INDEX, passages, make_vectors(passages) if vectors else None)


def find(store, text="", *, seed=None, **options):
    vector = None if seed is None else make_vector(seed)
    query = Query(text, tuple(tokenize(text)), vector, MODEL, **options)
    with store.snapshot() as snapshot:
        return snapshot.candidates(INDEX, query)


def ids(found):
    return {candidate.id for candidate in found.passages}


def many(count, space="default"):
    return [make_passage(f"{space}-{number:04}", f"passage number {number} of many", space) for number in range(count)]


def test_a_passage_is_found_by_its_words_and_gets_its_terms_back(store):
    put(store, make_passage("a", "Deploying needs the VPN", context="shop"))
    [candidate] = find(store, "deploy").passages
    assert candidate.item_id == "a"
    assert candidate.fields[0].split() == [stem(word) for word in ("deploying", "needs", "the", "vpn")]
    assert candidate.fields[1].split() == ["shop"]


def test_every_candidate_has_its_true_cosine_whichever_side_found_it(store):
    passages = [make_passage("a", "one text"), make_passage("bb", "another longer text")]
    put(store, *passages)
    for candidate, passage in zip(
        sorted(find(store, "text", seed=3).passages, key=lambda c: c.id), passages, strict=True
    ):
        assert candidate.cosine == pytest.approx(float(make_vector(len(passage.text)) @ make_vector(3)), abs=1e-3)


def test_cosines_with_several_vectors_are_those_of_searches_with_each(store):
    put(store, make_passage("a", "one text"), make_passage("bb", "another longer text"), make_passage("c", "far", "y"))
    query = Query("", (), make_vector(3), MODEL, spaces=("default",))
    with store.snapshot() as snapshot:
        known = snapshot.cosines(INDEX, query, ["a", "bb", "c", "nobody"], [make_vector(3), make_vector(7)])
    for at, seed in enumerate((3, 7)):
        found = find(store, seed=seed, spaces=("default",)).passages
        assert {place: cosines[at] for place, cosines in known.items()} == {
            ("default", each.id): each.cosine for each in found
        }


def test_without_all_vectors_there_are_no_cosines(store):
    put(store, make_passage("a", "one text"), vectors=False)
    with store.snapshot() as snapshot:
        assert snapshot.cosines(INDEX, Query("", (), make_vector(3), MODEL), ["a"], [make_vector(3)]) == {}


def test_statistics_are_of_the_spaces_that_are_searched(store):
    put(store, *many(3, "x"), make_passage("y", "number", "y"))
    everywhere, inside = find(store, "number"), find(store, "number", spaces=("x",))
    assert everywhere.statistics.passages == 4
    assert inside.statistics.passages == 3
    assert inside.words[0].variants[0].frequency == 3
    assert everywhere.words[0].variants[0].frequency == 4


def test_a_search_in_one_space_sees_no_other(store):
    put(store, *many(400, "x"), *many(400, "y"))
    found = find(store, "passage many", seed=5, spaces=("y",))
    assert found.passages
    assert {candidate.space for candidate in found.passages} == {"y"}


def test_an_unknown_space_has_nothing(store):
    put(store, *many(5))
    assert find(store, "passage", seed=1, spaces=("nowhere",)).passages == ()


def test_filters_do_not_leave_a_page_half_empty(store):
    put(store, *many(600))
    rare = Filter(
        "i.id IN (:one, :two, :three)", {"one": "default-0007", "two": "default-0311", "three": "default-0599"}
    )
    found = find(store, "passage number many", seed=2, filter=rare, candidates=10)
    assert ids(found) == {"default-0007", "default-0311", "default-0599"}


def test_filters_apply_to_the_vector_side_alone_too(store):
    put(store, *many(2200))
    odd = Filter("i.id LIKE :ending", {"ending": "%7"})
    found = find(store, seed=4, filter=odd, candidates=20)
    assert len(found.passages) == 20
    assert all(id_.endswith("7") for id_ in ids(found))


# More than SQLite compares exactly.
@pytest.mark.parametrize("count", [2_200, pytest.param(5_000, marks=pytest.mark.slow)])
def test_the_nearest_vectors_are_found_among_thousands(store, count):
    passages = [make_passage(f"p{number}", "x" * number) for number in range(1, count + 1)]
    put(store, *passages)
    query = make_vector(99_999)
    exact = sorted(passages, key=lambda each: -float(make_vector(len(each.text)) @ query))[:20]
    found = find(store, seed=99_999, candidates=64)
    assert len({each.id for each in exact} & ids(found)) >= 19


def test_a_word_matches_as_a_prefix_and_is_worth_less(store):
    put(store, make_passage("a", "authentication is on"))
    [word] = find(store, "auth").words
    assert [(variant.term, variant.worth < 1) for variant in word.variants] == [(stem("authentication"), True)]


def test_a_typo_is_corrected_from_the_searched_space_only(store):
    put(store, make_passage("a", "the gateway", "x"), make_passage("b", "the getaway", "y"))
    found = find(store, "gatewya", spaces=("x",))
    assert found.corrections == {"gatewya": "gateway"}
    assert find(store, "gatewya", spaces=("y",)).corrections == {}


def test_synonyms_are_searched_too_and_do_not_add_words(store):
    put(store, make_passage("a", "transfer the money"))
    found = find(store, "send", synonyms={"send": ("transfer",)})
    assert ids(found) == {"a"}
    assert len(found.words) == 1


def test_removed_items_leave_the_words_the_vectors_and_the_statistics(store):
    put(store, *many(200), make_passage("gone", "zebra crossing"))
    with store.transaction() as transaction:
        transaction.remove(INDEX, "default", ["gone"])
        transaction.execute("UPDATE memories SET is_deleted = 1 WHERE id = 'gone'")
    found = find(store, "zebra", seed=len("zebra crossing"))
    assert "gone" not in ids(found)
    assert found.words[0].variants == ()
    assert found.statistics.passages == 200
    assert store.check_integrity() == []


def test_what_fails_in_a_transaction_leaves_no_trace(store):
    put(store, make_passage("a", "first"))
    with pytest.raises(RuntimeError), store.transaction() as transaction:
        transaction.put(INDEX, [make_passage("b", "second")], None)
        raise RuntimeError
    assert ids(find(store, "second first")) == {"a"}
    assert store.check_integrity() == []


def test_the_same_id_twice_is_refused(store):
    put(store, make_passage("a", "first"))
    with pytest.raises(Conflict):
        put(store, make_passage("a", "second"))


def test_without_all_vectors_the_corpus_is_searched_by_keyword(store):
    put(store, make_passage("a", "with a vector"))
    assert find(store, "vector", seed=1).by_vector
    put(store, make_passage("b", "without a vector"), vectors=False)
    found = find(store, "vector", seed=1)
    assert not found.by_vector
    assert ids(found) == {"a", "b"}


def test_missing_vectors_can_be_added_later(store):
    late = make_passage("b", "without a vector yet")
    put(store, make_passage("a", "with a vector"))
    put(store, late, vectors=False)
    assert [item for _, _, item in store.missing_vectors("memories", MODEL, 0, 10)] == ["b"]
    assert not store.activate_model("memories", MODEL)
    store.add_vectors(INDEX, [late], make_vectors([late]))
    assert store.activate_model("memories", MODEL)
    found = find(store, "vector", seed=1)
    assert found.by_vector
    assert all(candidate.cosine is not None for candidate in found.passages)


def test_vectors_of_another_model_are_never_compared(store):
    put(store, make_passage("a", "some text"))
    query = Query("text", ("text",), make_vector(1), "another-model")
    with store.snapshot() as snapshot:
        found = snapshot.candidates(INDEX, query)
    assert not found.by_vector
    assert found.passages[0].cosine is None


def test_known_vectors_are_looked_up_by_the_text(store):
    passage = make_passage("a", "some text")
    put(store, passage)
    with store.snapshot() as snapshot:
        known = snapshot.cached_vectors(MODEL, [text_hash("some text"), text_hash("other text")])
        assert list(known) == [text_hash("some text")]
        assert np.allclose(known[text_hash("some text")], make_vector(9), atol=1e-3)
        assert snapshot.cached_vectors("another-model", [text_hash("some text")]) == {}


def test_an_index_made_anew_is_identical(store):
    put(store, *many(50), make_passage("gone", "zebra"))
    with store.transaction() as transaction:
        transaction.remove(INDEX, "default", ["gone"])
        transaction.execute("UPDATE memories SET is_deleted = 1 WHERE id = 'gone'")
    before = store.fingerprint(INDEX)
    with store.transaction() as transaction:
        transaction.clear(INDEX)
        transaction.put(INDEX, list(reversed(many(50))), make_vectors(many(50)))
    assert store.fingerprint(INDEX) == before
    assert store.check_integrity() == []


def test_the_fingerprint_sees_a_difference(store):
    put(store, *many(3))
    before = store.fingerprint(INDEX)
    put(store, make_passage("new", "text"))
    assert store.fingerprint(INDEX) != before


def test_counts_are_per_space(store):
    put(store, *many(3, "x"), *many(2, "y"))
    assert store.counts("memories") == {"x": 3, "y": 2}


def test_a_snapshot_does_not_change_while_others_write(store):
    if store.location == ":memory:":
        return  # one connection: a writer waits until the snapshot is closed
    put(store, make_passage("a", "first"))
    with store.snapshot() as snapshot:
        assert len(snapshot.rows("SELECT id FROM memories")) == 1
        put(store, make_passage("b", "second"))
        assert len(snapshot.rows("SELECT id FROM memories")) == 1


@pytest.mark.parametrize("word", ['"', "NEAR(", "a AND b", "content:x", "*", "^a", "x' OR 1=1 --", "{a b} : c"])
def test_no_query_is_syntax(store, word):
    put(store, make_passage("a", f"text with {word} inside"))
    assert ids(find(store, word)) <= {"a"}


# More than a megabyte of different words, which is more than some kinds of index can hold of one passage.
@pytest.mark.parametrize(("count", "length"), [(2_500, 450), pytest.param(60_000, 1, marks=pytest.mark.slow)])
def test_a_very_long_passage_is_found_by_each_of_its_words(store, count, length):
    words = [f"w{number:x}{'q' * length}{number * 7919 % 1_000_003:x}" for number in range(count)]
    put(store, *many(250), make_passage("long", " ".join(words)))
    for word in words[:: count // 10]:
        assert "long" in ids(find(store, word)), word


def test_a_filter_applies_before_the_cut_of_a_word_that_nearly_all_have(store, monkeypatch):
    monkeypatch.setattr("athand.store.postgres.candidates.MOST_ROWS", 300)
    put(store, *many(900))
    rare = Filter("i.id IN (:one, :two)", {"one": "default-0003", "two": "default-0898"})
    assert ids(find(store, "passage", filter=rare, candidates=10)) == {"default-0003", "default-0898"}


def test_equals_are_cut_off_newest_first(store):
    old = [make_passage(f"a{number:03}", "the same words") for number in range(250)]
    put(store, *[replace(each, created_at=number % 7) for number, each in enumerate(old)])
    found = find(store, "same words", candidates=30).passages
    assert {candidate.created_at for candidate in found} == {6}


def test_the_spelling_of_a_word_that_was_gone_does_not_come_back(store):
    put(store, *many(3), make_passage("a", "gardening"))
    with store.transaction() as transaction:
        transaction.remove(INDEX, "default", ["a"])
        transaction.execute("UPDATE memories SET is_deleted = 1 WHERE id = 'a'")
    put(store, make_passage("b", "gardened"))
    assert find(store, "gardned").corrections == {"gardned": "gardened"}
    assert find(store, "gardned", spaces=("default",)).corrections == {"gardned": "gardened"}


def test_a_word_that_others_write_is_still_suggested_after_one_of_them_is_erased(athand):
    for number in range(30):
        athand.memories.add(f"The service {number} restarts at night", id=f"m{number}", project=f"p{number % 2}")
    athand.memories.add("They were zorblaxing all day", id="secret", project="p0")
    athand.memories.add("It zorblaxed", id="other", project="p0")
    for erased in ("m7", "secret"):
        athand.memories.delete(erased, hard=True)
    for project in (None, "p0", "p1"):
        assert athand.memories.search("servce", project=project).did_you_mean == {"servce": "service"}
    assert athand.memories.search("zorblxed").did_you_mean == {"zorblxed": "zorblaxed"}
