"""Scanning: every passage that is near enough or has a text in it, on every engine; and writing many rows at once."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from athand.app import SCHEMAS
from athand.errors import AthandError, Conflict
from athand.store import Index, Passage, open_store
from athand.text import text_hash
from athand.types import Filter, Scan, Vectors

INDEX = Index("documents", ("content", "heading", "names", "path"), (1.0,) * 4, ("kind",), "document_chunks")
DIMENSIONS = 8
MODEL = "test-model"
DOCUMENT = (
    "INSERT INTO documents (space, id, kind, language, title, encoding, size, modified_at, stamp, hash, characters, "
    "lines, chunks, phrases, outline) VALUES (:space, :id, :kind, '', '', '', 0, 0, '', '', 0, 0, :chunks, '[]', '[]')"
)
CHUNK = (
    "INSERT INTO document_chunks (space, id, document_id, position, start_offset, end_offset, start_line, end_line, "
    "heading, names, place, content) VALUES (:space, :id, :document, :position, 0, 0, 1, 1, '[]', '[]', '', :content)"
)


def vector(*numbers):
    made = np.array([*numbers, *[0] * (DIMENSIONS - len(numbers))], np.float32)
    return made / np.linalg.norm(made)


def put(store, texts, space="a", vectors=None, kind="text", document=None):
    """A document with a chunk for each of these texts."""
    document = document or f"{space}.md"
    passages = [
        Passage(f"{document}:{at}", document, space, (text, "", "", document), text, 0, text)
        for at, text in enumerate(texts)
    ]
    with store.transaction(spaces=(space,)) as transaction:
        transaction.execute_many(DOCUMENT, [{"space": space, "id": document, "kind": kind, "chunks": len(passages)}])
        transaction.execute_many(
            CHUNK,
            [
                {"space": space, "id": each.id, "document": document, "position": at, "content": each.content}
                for at, each in enumerate(passages)
            ],
        )
        known = vectors and Vectors(
            MODEL, DIMENSIONS, {text_hash(text): each for text, each in zip(texts, vectors, strict=True)}
        )
        transaction.put(INDEX, passages, known)


def scan(store, **asked):
    with store.snapshot() as snapshot:
        return snapshot.scan(INDEX, Scan(**asked))


def contents(store, *texts, **asked):
    found, _ = scan(store, texts=texts, **asked)
    return {each.content for each in found if any(text.casefold() in each.content.casefold() for text in texts)}


class TestTexts:
    def test_what_has_a_text_comes_with_its_content_and_place(self, store):
        put(store, ["nothing", "the needle here", "NEEDLES"])
        found, by_vector = scan(store, texts=("needle",))
        assert not by_vector
        assert [(each.space, each.item_id, each.position, each.id, each.content) for each in found] == [
            ("a", "a.md", 1, "a.md:1", "the needle here"),
            ("a", "a.md", 2, "a.md:2", "NEEDLES"),
        ]
        assert all(each.cosines == () for each in found)

    def test_a_text_is_literal_case_aside(self, store):
        wanted = (
            "%|_|100%|a_b|'|\"|\\|\\%|[x]|.*|^|a  b|x|ab|-- |;|\n|a\nb|Straße|STRASSE|İ|σ|Σ|ς|東|東京都|🚀|é|e\u0301"  # noqa: RUF001
        )
        for at, text in enumerate([*wanted.split("|"), "(a|b)", 'a"b" OR c', "NEAR(a b)", "\u212a", "\ufb01"]):
            texts = [
                f"nothing {at}",
                f"before {text} after {at}",
                f"{text.upper()} {at}",
                f"{text.swapcase()}{text} {at}",
            ]
            put(store, texts, document=f"{at}.md")
            found = {each for each in contents(store, text) if each.endswith(f" {at}")}
            assert found == {each for each in texts if text.casefold() in each.casefold()}
            assert f"before {text} after {at}" in found

    def test_any_of_several_texts_will_do(self, store):
        put(store, ["one alpha", "two beta", "three gamma", "alpha beta", "x y"])
        assert contents(store, "alpha", "beta") == {"one alpha", "two beta", "alpha beta"}
        assert contents(store, "alpha", "y") == {"one alpha", "alpha beta", "x y"}

    def test_a_long_text_is_found_whole(self, store):
        long = " ".join(f"word{number}" for number in range(600))
        put(store, [long, long.replace("word599", "word600"), "short"])
        assert contents(store, long[100:4000]) == {long, long.replace("word599", "word600")}
        assert contents(store, long[-40:]) == {long}

    def test_what_is_removed_is_not_found_any_more(self, store):
        put(store, ["the needle", "other"], document="one.md")
        put(store, ["a needle too"], document="two.md")
        with store.transaction() as transaction:
            transaction.remove(INDEX, "a", ["one.md"])
            for table, column in (("document_chunks", "document_id"), ("documents", "id")):
                transaction.execute(f"DELETE FROM {table} WHERE {column} = :id", {"id": "one.md"})
        assert contents(store, "needle") == {"a needle too"}
        assert contents(store, "ot") == set()
        assert store.check_integrity() == []

    def test_nothing_is_found_without_texts_or_vectors(self, store):
        put(store, ["needle"])
        assert scan(store) == ([], False)
        assert scan(store, texts=("absent",))[0] == []


class TestVectors:
    @pytest.fixture
    def filled(self, store):
        put(store, ["east", "north east", "north", "west"], vectors=[vector(1), vector(1, 1), vector(0, 1), vector(-1)])
        return store

    def test_all_that_is_near_enough_comes_with_its_true_cosines(self, filled):
        found, by_vector = scan(filled, vectors=(vector(1),), least=0.5, model_id=MODEL)
        assert by_vector
        assert [each.id for each in found] == ["a.md:0", "a.md:1"]
        assert [each.cosines[0] for each in found] == pytest.approx([1, np.sqrt(0.5)], abs=1e-3)
        assert [each.content for each in found] == [None, None]

    def test_being_near_one_of_several_is_enough_and_all_cosines_come(self, filled):
        found, _ = scan(filled, vectors=(vector(1), vector(0, 1)), least=0.9, model_id=MODEL)
        assert {each.id: tuple(np.round(each.cosines, 2)) for each in found} == {"a.md:0": (1, 0), "a.md:2": (0, 1)}

    def test_what_has_a_text_comes_however_far_it_is(self, filled):
        found, _ = scan(filled, vectors=(vector(1),), least=0.9, texts=("west",), model_id=MODEL)
        assert {each.id: (round(each.cosines[0], 2), each.content) for each in found} == {
            "a.md:0": (1.0, None),
            "a.md:3": (-1.0, "west"),
        }

    def test_a_model_that_does_not_cover_everything_is_not_compared(self, filled):
        found, by_vector = scan(filled, vectors=(vector(1),), texts=("west",), model_id="another-model")
        assert not by_vector
        assert [each.id for each in found] == ["a.md:3"]
        put(filled, ["without a vector"], space="b")
        assert scan(filled, vectors=(vector(1),), model_id=MODEL)[1] is False

    @pytest.mark.parametrize("questions", [4, pytest.param(20, marks=pytest.mark.slow)])
    def test_nothing_that_is_near_enough_is_missed_by_rounding(self, store, questions):
        generator = np.random.default_rng(5)
        made = [vector(*row) for row in generator.normal(size=(300, DIMENSIONS))]
        put(store, [f"text {number}" for number in range(300)], vectors=made)
        halves = np.stack(made).astype("<f2").astype(np.float64)
        for _ in range(questions):
            asked = vector(*generator.normal(size=DIMENSIONS))
            cosines = (halves @ asked.astype(np.float64)).round(9)
            for least in (*np.sort(cosines)[-8:], 0.0, 0.7):
                found, _ = scan(store, vectors=(asked,), least=float(least), model_id=MODEL)
                expected = {f"a.md:{at}" for at in np.flatnonzero(cosines >= least)}
                assert expected <= {each.id for each in found}
                for each in found:
                    assert each.cosines[0] == pytest.approx(cosines[each.position], abs=1e-9)

    def test_equal_texts_share_a_vector_and_are_all_found(self, store):
        put(store, ["same"], vectors=[vector(1)], document="one.md")
        put(store, ["same"], vectors=[vector(1)], document="two.md")
        found, _ = scan(store, vectors=(vector(1),), least=0.9, model_id=MODEL)
        assert [each.item_id for each in found] == ["one.md", "two.md"]


class TestSpacesAndFilters:
    @pytest.fixture(autouse=True)
    def filled(self, store):
        for space in ("a", "b", "c"):
            put(store, [f"needle of {space}"], space, [vector(1)], kind="code" if space == "c" else "text")

    @pytest.mark.parametrize(
        "asked", [{"texts": ("needle",)}, {"texts": ("n",)}, {"vectors": (vector(1),), "least": 0.5}]
    )
    def test_only_the_spaces_asked_for_are_scanned(self, store, asked):
        for spaces, expected in (
            (None, {"a", "b", "c"}),
            (("a",), {"a"}),
            (("a", "c"), {"a", "c"}),
            (("nowhere",), set()),
            ((), set()),
        ):
            found, _ = scan(store, **asked, spaces=spaces, model_id=MODEL)
            assert {each.space for each in found} == expected

    def test_a_filter_applies_to_both_sides(self, store):
        chosen = Filter("i.kind = :kind", {"kind": "code"})
        for asked in ({"texts": ("needle",)}, {"vectors": (vector(1),), "least": 0.5}):
            found, _ = scan(store, **asked, filter=chosen, model_id=MODEL)
            assert [each.space for each in found] == ["c"]

    def test_paths_are_filtered_by_pattern(self, store):
        values = {"path_glob": "**/[ab].md", "path_regex": r"^(.*/)?[ab]\.md(/.*)?$"}
        found, _ = scan(store, texts=("needle",), filter=Filter("path_matches(i.id, :path_glob, :path_regex)", values))
        assert [each.space for each in found] == ["a", "b"]

    def test_a_snapshot_does_not_see_what_is_written_later(self, store):
        if store.location == ":memory:":
            pytest.skip("has one connection")
        with store.snapshot() as snapshot:
            before = snapshot.scan(INDEX, Scan(texts=("needle",)))
            put(store, ["needle of d"], "d", [vector(1)])
            assert snapshot.scan(INDEX, Scan(texts=("needle",))) == before
        assert len(scan(store, texts=("needle",))[0]) == 4


class TestFrequencies:
    def frequencies(self, store, spaces, *terms):
        with store.snapshot() as snapshot:
            return snapshot.frequencies(INDEX, spaces, terms)

    def test_terms_are_counted_by_passage_in_the_spaces(self, store):
        put(store, ["zebra zebra", "zebra okapi"], "a")
        put(store, ["okapi"], "b")
        assert self.frequencies(store, None, "zebra", "okapi", "absent") == {"zebra": 2, "okapi": 2, "": 3}
        assert self.frequencies(store, ("a",), "zebra", "okapi") == {"zebra": 2, "okapi": 1, "": 2}
        assert self.frequencies(store, ("b",), "zebra", "okapi") == {"okapi": 1, "": 1}
        assert self.frequencies(store, ("a", "b"), "okapi") == {"okapi": 2, "": 3}

    def test_an_empty_store_or_space_has_none(self, store):
        assert self.frequencies(store, None, "zebra") == {"": 0}
        put(store, ["zebra"], "a")
        assert self.frequencies(store, ("nowhere",), "zebra") == {"": 0}
        assert self.frequencies(store, (), "zebra") == {"": 0}
        assert self.frequencies(store, ("a",)) == {"": 1}

    def test_what_is_removed_is_not_counted(self, store):
        put(store, ["zebra"], "a", document="one.md")
        put(store, ["zebra"], "a", document="two.md")
        with store.transaction() as transaction:
            transaction.remove(INDEX, "a", ["one.md"])
            transaction.execute("DELETE FROM document_chunks WHERE document_id = 'one.md'")
            transaction.execute("DELETE FROM documents WHERE id = 'one.md'")
        assert self.frequencies(store, ("a",), "zebra") == {"zebra": 1, "": 1}

    def test_many_terms_and_odd_ones_are_no_problem(self, store):
        put(store, ["zebra"], "a")
        odd = ["'", '"', "%", "a b", "\\", "é", "x" * 1000, *(f"term{number}" for number in range(2000))]
        assert self.frequencies(store, ("a",), *odd, "zebra") == {"zebra": 1, "": 1}


class TestManyAtOnce:
    INSERT = "INSERT INTO settings (name, value) VALUES (:name, :value)"

    def values(self, store):
        with store.snapshot() as snapshot:
            return dict(snapshot.rows("SELECT name, value FROM settings WHERE name LIKE 'x%'"))

    def test_a_statement_runs_once_for_each(self, store):
        rows = [{"name": f"x{number}", "value": "100% 'quoted' :name"} for number in range(2500)]
        with store.transaction() as transaction:
            transaction.execute_many(self.INSERT, rows)
            transaction.execute_many(
                "UPDATE settings SET value = :value WHERE name = :name", [{"name": "x7", "value": "y"}]
            )
        found = self.values(store)
        assert len(found) == 2500
        assert found["x7"] == "y"
        assert found["x8"] == "100% 'quoted' :name"

    def test_for_none_it_does_nothing(self, store):
        with store.transaction() as transaction:
            transaction.execute_many(self.INSERT, [])
        assert self.values(store) == {}

    def test_one_that_fails_undoes_all(self, store):
        with pytest.raises(Conflict), store.transaction() as transaction:
            transaction.execute_many(self.INSERT, [{"name": "x1", "value": "1"}, {"name": "x1", "value": "2"}])
        assert self.values(store) == {}

    def test_a_missing_value_is_an_error(self, store):
        with (
            pytest.raises((AthandError, KeyError, LookupError, TypeError, ValueError)),
            store.transaction() as transaction,
        ):
            transaction.execute_many(self.INSERT, [{"name": "x1"}])
        assert self.values(store) == {}


@pytest.fixture(scope="module")
def pair(module_postgres_url):
    stores = [open_store(":memory:", SCHEMAS), open_store(module_postgres_url, SCHEMAS)]
    yield stores
    for each in stores:
        each.close()


@settings(max_examples=60)
@given(data=st.data())
def test_both_engines_bring_every_passage_that_has_a_text(pair, data):
    """What they bring beside it may differ: whoever asked compares again."""
    letters = st.text(st.sampled_from("aAbßẞSsİiIıΣσςéÉ%_'\"\\ 東🚀-*\n"), min_size=1, max_size=8)  # noqa: RUF001
    texts = data.draw(st.lists(letters, min_size=1, max_size=4, unique=True))
    wanted = data.draw(letters)
    for store in pair:
        put(store, texts, document="drawn.md")
        try:
            expected = {text for text in texts if wanted.casefold() in text.casefold()}
            assert contents(store, wanted) == expected
        finally:
            with store.transaction() as transaction:
                transaction.remove(INDEX, "a", ["drawn.md"])
                transaction.execute("DELETE FROM document_chunks")
                transaction.execute("DELETE FROM documents")


def test_a_scan_of_a_store_that_was_filled_just_now_does_not_go_through_it_again_and_again(store):
    texts = [f"text {number} of many {'filler ' * 60}" for number in range(1500)]
    put(store, texts, vectors=[vector(1, number) for number in range(1500)])
    began = time.monotonic()
    found, _ = scan(store, vectors=(vector(1),), least=0.0, texts=("text 77 ",), spaces=("a",), model_id=MODEL)
    assert len(found) == 1500
    assert time.monotonic() - began < 60
