"""search_content refuses what makes no sense, and answers everything else."""

from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from athand import Athand
from athand.errors import AthandError, InvalidInput, NotFound

TEXT = "The quick brown fox: 100% of get_value() in C:\\x\\y, Straße 東京 'quoted' \"twice\" [a-z]* ^$ é"
PATIENT = settings(max_examples=70)


@pytest.fixture(scope="module")
def stores(tmp_path_factory, module_postgres_url):
    root = tmp_path_factory.mktemp("inputs")
    (root / "a.md").write_text(TEXT)
    (root / "b.md").write_text("Another text, about something else.")
    with Athand(":memory:") as sqlite, Athand(module_postgres_url) as server:
        for opened in (sqlite, server):
            opened.documents._cursors  # noqa: B018
            opened.documents.add(root, folder_id="inputs")
        yield {"sqlite": sqlite.documents, "postgres": server.documents}


@pytest.fixture
def documents(stores):
    """What is refused, is refused before an engine is asked."""
    return stores["sqlite"]


@pytest.fixture(params=["sqlite", "postgres"])
def each_engine(request, stores):
    return stores[request.param]


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({}, "semantic_concepts and exact_terms"),
        ({"semantic_concepts": [], "exact_terms": []}, "semantic_concepts and exact_terms"),
        ({"semantic_concepts": None, "exact_terms": None}, "semantic_concepts and exact_terms"),
        ({"exact_terms": "text"}, "exact_terms"),
        ({"semantic_concepts": "text"}, "semantic_concepts"),
        ({"exact_terms": 5}, "exact_terms"),
        ({"exact_terms": {"a": 1}}, "exact_terms"),
        ({"exact_terms": [5]}, "exact_terms"),
        ({"exact_terms": [None]}, "exact_terms"),
        ({"exact_terms": [["a"]]}, "exact_terms"),
        ({"exact_terms": [""]}, "exact_terms"),
        ({"exact_terms": ["  \n"]}, "exact_terms"),
        ({"exact_terms": ["a\0b"]}, "NUL"),
        ({"exact_terms": ["\ud800"]}, "Unicode"),
        ({"semantic_concepts": ["\udfff"]}, "Unicode"),
        ({"exact_terms": ["x" * 5000]}, "exact_terms"),
        ({"exact_terms": [f"t{n}" for n in range(10_000)]}, "10000"),
        ({"semantic_concepts": [f"t{n}" for n in range(10_000)]}, "10000"),
        *(({"exact_terms": ["a"], "limit": limit}, "limit") for limit in (0, -1, 51, True, 1.5, "5", None, 10**100)),
        *(
            ({"exact_terms": ["a"], "min_score": score}, "min_score")
            for score in (-0.1, 1.1, True, "0.5", float("nan"), float("inf"))
        ),
        *(({"exact_terms": ["a"], "max_tokens": tokens}, "max_tokens") for tokens in (-1, True, 1.5, "9", 10**100)),
        *(({"exact_terms": ["a"], "path": path}, "path") for path in (5, ["x"], "a\0b", "\ud800", "x" * 3000)),
        *(({"exact_terms": ["a"], "folder_id": id_}, "folder_id") for id_ in (5, [5], [None], {"a": 1}, [""], ["a\0"])),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_name(documents, asked, named):
    with pytest.raises(InvalidInput, match=named):
        documents.search_content(**asked)


def test_a_refusal_is_the_same_for_every_argument_of_the_other_calls(documents):
    for call in (
        lambda: documents.search(5),
        lambda: documents.search("fox", limit=0),
        lambda: documents.search("fox", min_score=2),
        lambda: documents.search("fox", path=5),
        lambda: documents.find_documents(5),
        lambda: documents.find_documents("fox", limit=1000),
        lambda: documents.list_documents("inputs", limit=True),
        lambda: documents.list_documents("inputs", path=5),
        lambda: documents.list_documents("inputs", path="\ud800"),
        lambda: documents.explore("inputs", 5),
        lambda: documents.explore("inputs", "\ud800"),
        lambda: documents.get_chunks("inputs", []),
        lambda: documents.get_chunks("inputs", [5]),
        lambda: documents.get_chunks("inputs", 5),
        lambda: documents.get_chunks("inputs", ["x"] * 101),
        lambda: documents.get_chunks("inputs", ["x"], neighbours=-1),
        lambda: documents.get_document_text("inputs", "a.md", max_chars=-1),
        lambda: documents.get_document_text("inputs", "a.md", max_chars=True),
        lambda: documents.get_document_text("inputs", "a.md", start_line=0),
        lambda: documents.get_document_text("inputs", "a.md", start_line=3, end_line=2),
        lambda: documents.get_document_data("inputs", "a.md", limit=0),
    ):
        with pytest.raises(InvalidInput):
            call()


@pytest.mark.parametrize("id_", ["nowhere", "\0", "\ud800", "in%70uts", "inputs/", "../inputs", " inputs"])
def test_an_unknown_folder_is_not_found_in_any_call(each_engine, id_):
    for call in (
        lambda: each_engine.search("fox", folder_id=id_),
        lambda: each_engine.find_documents("fox", folder_id=id_),
        lambda: each_engine.explore(id_),
        lambda: each_engine.list_documents(id_),
        lambda: each_engine.get_document_data(id_, "a.md"),
        lambda: each_engine.get_document_text(id_, "a.md"),
        lambda: each_engine.get_chunks(id_, ["x"]),
        lambda: each_engine.refresh(id_),
        lambda: each_engine.remove(id_),
        lambda: each_engine.problems(id_),
    ):
        with pytest.raises(NotFound):
            call()


@pytest.mark.parametrize(
    "path", ["", "nowhere.md", "../a.md", "./a.md", "/a.md", "..%2fa.md", "%61.md", "a.md\0", "a.md/", "A.md"]
)
def test_a_document_that_is_not_there_is_not_found(each_engine, path):
    for call in (each_engine.get_document_data, each_engine.get_document_text):
        with pytest.raises(NotFound):
            call("inputs", path)


@PATIENT
@given(term=st.text(min_size=1, max_size=6))
@example(term="ß")
@example(term="İ")
@example(term="ς")
@example(term='"" OR')
def test_every_text_is_a_legal_term_and_both_engines_answer_alike(stores, term):
    answers = []
    for documents in stores.values():
        try:
            answers.append([each.document_id for each in documents.search_content(exact_terms=[term]).data.results])
        except InvalidInput as error:
            answers.append(str(error))
    assert answers[0] == answers[1]


@PATIENT
@given(data=st.data())
def test_every_piece_of_a_text_is_found_in_it(stores, data):
    start = data.draw(st.integers(0, len(TEXT) - 1))
    term = TEXT[start : start + data.draw(st.integers(1, 30))]
    if term.strip():
        for documents in stores.values():
            found = documents.search_content(exact_terms=[term]).data.results
            assert "a.md" in [each.document_id for each in found]


ANYTHING = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.lists(st.text(max_size=4), max_size=3)
)


@PATIENT
@given(
    asked=st.fixed_dictionaries(
        {},
        optional={
            "folder_id": ANYTHING,
            "semantic_concepts": ANYTHING,
            "exact_terms": ANYTHING,
            "min_score": ANYTHING,
            "limit": ANYTHING,
            "max_tokens": ANYTHING,
            "path": ANYTHING,
            "continuation_token": ANYTHING,
        },
    )
)
def test_whatever_is_given_is_answered_or_refused(stores, asked):
    for documents in stores.values():
        with suppress(InvalidInput, NotFound):
            assert documents.search_content(**asked).status.success


@PATIENT
@given(query=st.text(max_size=30) | st.text(st.characters(), max_size=30))
@example(query="\ud800 fox")
@example(query="fox\0")
def test_every_text_is_a_legal_question(stores, query):
    answers = [
        ([hit.id for hit in documents.search(query)], [each.document_id for each in documents.find_documents(query)])
        for documents in stores.values()
    ]
    assert answers[0] == answers[1]


@PATIENT
@given(path=ANYTHING, number=ANYTHING)
def test_whatever_is_asked_of_a_folder_is_answered_or_refused(stores, path, number):
    for documents in stores.values():
        with suppress(AthandError):
            documents.explore("inputs", path)
        with suppress(AthandError):
            documents.list_documents("inputs", path, number)
        with suppress(AthandError):
            documents.get_document_text("inputs", "a.md", start_line=number)
        with suppress(AthandError):
            documents.get_document_text("inputs", path, end_line=number)
        with suppress(AthandError):
            documents.get_document_data("inputs", path)
        with suppress(AthandError):
            documents.get_chunks("inputs", path, number)


@pytest.mark.parametrize("id_", [5, [["x"]], 1.5])
def test_a_folder_that_is_no_name_is_refused_in_every_call(documents, id_):
    for call in (lambda: documents.search("fox", folder_id=id_), lambda: documents.explore(id_)):
        with pytest.raises((InvalidInput, NotFound)):
            call()
