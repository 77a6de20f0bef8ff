"""search_content: what is found, how it is scored, in which order."""

import time

import pytest
from tests.engines import one_engine
from tests.waiting import PATIENCE

from athand import Athand
from athand.errors import InvalidInput, NotFound

CONCEPTS = ["postgres connection pool", "chunks of Markdown by headings"]


def found(answer):
    return [(result.document_id, round(result.relevance_score, 4)) for result in answer.data.results]


def paths(answer):
    return [result.document_id for result in answer.data.results]


class TestExactTermsAlone:
    @pytest.fixture(autouse=True)
    def folder(self, documents, tree):
        tree.write_all(
            {
                "all.md": "alpha beta gamma",
                "one.md": "alpha alone",
                "two.md": "alpha and beta",
                "none.md": "delta",
                "inside.md": "alphabetas",
                "often.md": "alpha alpha alpha",
            }
        )
        documents.add(tree)

    def test_finds_what_has_a_term_and_ranks_by_how_many_it_has(self, documents):
        answer = documents.search_content(exact_terms=["alpha", "beta", "gamma"])
        assert found(answer) == [
            ("all.md", 0.7037),
            ("two.md", 0.5556),
            ("inside.md", 0.5556),  # has alpha and beta, but not as words
            ("often.md", 0.3333),
            ("one.md", 0.3333),
        ]
        assert answer.status.success
        assert answer.status.code == 200
        assert answer.status.message == "Found 5 results"

    @one_engine
    def test_a_term_given_twice_counts_once(self, documents):
        assert found(documents.search_content(exact_terms=["gamma", "gamma"])) == [("all.md", 0.3333)]

    @one_engine
    def test_says_why(self, documents):
        best = documents.search_content(exact_terms=["alpha", "beta", "gamma"]).data.results[0]
        assert best.why.matched == ("alpha", "beta", "gamma")
        assert best.why.total == pytest.approx(best.relevance_score)
        assert list(best.why.signals) == ["exact"]

    @one_engine
    def test_a_least_score_leaves_out_what_has_fewer_terms(self, documents):
        answer = documents.search_content(exact_terms=["alpha", "beta", "gamma"], min_score=0.5)
        assert paths(answer) == ["all.md", "two.md", "inside.md"]

    @one_engine
    def test_finding_nothing_is_a_success_with_a_hint(self, documents):
        answer = documents.search_content(exact_terms=["zeta"])
        assert answer.status.success
        assert not answer.data.results
        assert answer.data.statistics.total_results == 0
        assert answer.data.statistics.avg_relevance == 0
        assert not answer.continuation.has_more
        assert answer.navigation_hints.next_actions


def test_ties_go_by_whole_words_then_occurrences_then_path_then_position(documents, tree):
    paragraphs = "\n\n".join(f"# Part {number}\n\n{'filler ' * 300}\n\nneedle" for number in range(2))
    tree.write_all(
        {"c.md": "needle", "b.md": "needle", "a.md": "needles", "d.md": "needles needles", "z/e.md": paragraphs}
    )
    documents.add(tree)
    results = documents.search_content(exact_terms=["needle"]).data.results
    assert {result.relevance_score for result in results} == {1 - 1 / 1.5}
    order = [(result.document_id, result.chunk_index) for result in results]
    assert order[:2] == [("b.md", 0), ("c.md", 0)]
    assert order[-2:] == [("d.md", 0), ("a.md", 0)]
    assert order[2:-2] == sorted(order[2:-2])
    assert len(order) >= 6


LITERAL = {
    "percent.txt": "up by 100% today",
    "plain.txt": "up by 1000 today",
    "snake.txt": "call get_value now",
    "other.txt": "call getXvalue now",
    "quotes.txt": """she said "it's fine" and left""",
    "slash.txt": r"path C:\new\table here",
    "regex.txt": r"match ^(a|b)*[x-z]+$ and .* too",
    "spaces.txt": "two  spaces and a\ttab",
    "sql.txt": "'; DROP TABLE documents; --",
    "fts.txt": 'NEAR("a" b) AND NOT c:d* OR ^e',
    "lines.txt": "first line\nsecond line",
    "unicode.txt": "Die STRASSE nach İstanbul, Übermut, ΣΟΦΟΣ, 東京都, naïve café, 🚀 go",
    "sharp.txt": "Die Straße, fish",
    "short.txt": "x y Q4 v4",
}


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("100%", "percent"),
        ("get_value", "snake"),
        ('"it\'s fine"', "quotes"),
        ("it's", "quotes"),
        ("C:\\new\\table", "slash"),
        ("^(a|b)*[x-z]+$", "regex"),
        (".*", "regex"),
        ("[x-z]", "regex"),
        ("two  spaces", "spaces"),
        ("a\ttab", "spaces"),
        ("'; DROP TABLE", "sql"),
        ('NEAR("a" b) AND NOT', "fts"),
        ("c:d*", "fts"),
        ("first line\nsecond", "lines"),
        ("straße", "sharp"),
        ("STRASSE", "unicode"),
        ("ﬁsh", ""),
        ("übermut", "unicode"),
        ("σοφος", "unicode"),
        ("σοφοσ", "unicode"),
        ("東京", "unicode"),
        ("東", "unicode"),
        ("🚀", "unicode"),
        ("NAÏVE", "unicode"),
        ("İSTANBUL", "unicode"),
        ("q4", "short"),
        ("V4", "short"),
        ("Q4", "short"),
        ("x y", "short"),
        (" here", "slash"),
        ("get", "other snake"),
        ("%", "percent"),
        ("\\", "slash"),
        ("🚀 go", "unicode"),
        ("Get_Value", ""),
        ("GETXVALUE", "other"),
        ("getxValue", ""),
        ("1000%", ""),
        ("nothing of this", ""),
    ],
)
def test_terms_are_found_literally(literal, term, expected):
    answer = literal.search_content(exact_terms=[term])
    assert sorted(paths(answer)) == sorted(f"{name}.txt" for name in expected.split())


def test_letters_that_stand_alone_are_found_wherever_they_are(literal):
    for term in ("q", "Y", "e", "4"):
        expected = [name for name, text in LITERAL.items() if term.casefold() in text.casefold()]
        assert sorted(paths(literal.search_content(exact_terms=[term], limit=50))) == sorted(expected)


@pytest.fixture(scope="module")
def literal_stores(tmp_path_factory, module_postgres_url):
    """One folder of odd texts on each engine, for all tests that read it."""
    root = tmp_path_factory.mktemp("literal")
    for name, text in LITERAL.items():
        (root / name).write_bytes(text.encode())
    with Athand(":memory:") as sqlite, Athand(module_postgres_url) as server:
        sqlite.documents.add(root)
        server.documents.add(root)
        yield {"sqlite": sqlite.documents, "postgres": server.documents}


@pytest.fixture(params=["sqlite", "postgres"])
def literal(request, literal_stores):
    return literal_stores[request.param]


class TestAgainstReadingEverything:
    """The answers equal those of going through all chunks one by one."""

    @pytest.mark.parametrize(
        "asked",
        [
            {"terms": ["vector", "cosine", "matrix"]},
            {"terms": ["sqlite"]},
            {"terms": ["a"]},
            {"concepts": CONCEPTS[:1]},
            {"concepts": CONCEPTS[:1], "least": 0.0},
            {"concepts": CONCEPTS, "least": 0.3},
            {"concepts": CONCEPTS, "terms": ["pool", "heading", "license"]},
            {"concepts": ["sourdough bread"], "terms": ["matrix"], "least": 0.0},
            {"concepts": ["postgres connection pool"], "terms": ["the"], "least": 0.05},
            {"concepts": ["token"], "terms": ["token", "page", "seal"], "least": 0.9},
            {"terms": ["vector", "cosine", "matrix", "numpy"], "least": 0.6},
        ],
    )
    def test_every_match_is_there_once_in_order_with_its_score(self, real, reference, walk_pages, asked):
        expected = reference(real).search(**asked)
        pages = list(
            walk_pages(
                real,
                semantic_concepts=asked.get("concepts", ()),
                exact_terms=asked.get("terms", ()),
                min_score=asked.get("least"),
                limit=50,
            )
        )
        results = [result for page in pages for result in page.data.results]
        assert [result.chunk_id for result in results] == [id_ for id_, _ in expected]
        for result, (_, total) in zip(results, expected, strict=True):
            assert result.why.total == pytest.approx(total, abs=1e-9)
            assert result.relevance_score == pytest.approx(min(1.0, total), abs=1e-9)
        assert {page.data.statistics.total_results for page in pages} == {len(expected)}
        assert expected or asked["concepts"]

    def test_a_chunk_with_an_exact_term_is_never_missed_whatever_its_meaning(self, real, reference, walk_pages):
        having = {id_ for id_, _ in reference(real).search(terms=["pragma"])}
        asked = {"semantic_concepts": ["sourdough bread"], "exact_terms": ["pragma"], "min_score": 0, "limit": 50}
        found = {result.chunk_id for page in walk_pages(real, **asked) for result in page.data.results}
        assert having
        assert having <= found


@one_engine
def test_exact_terms_boost_a_meaning_by_half_for_each_distinct_one(documents, tree):
    tree.write("a.md", "The connection pool keeps connections of postgres: pool, pool, pool")
    documents.add(tree)
    asked = {"semantic_concepts": ["postgres database connections"], "min_score": 0}
    [plain] = documents.search_content(**asked).data.results
    for terms, factor in ((["pool"], 1.5), (["pool", "keeps"], 2.25), (["pool", "keeps", "absent"], 2.25)):
        [boosted] = documents.search_content(**asked, exact_terms=terms).data.results
        assert boosted.why.total == pytest.approx(plain.why.total * factor)
        assert boosted.relevance_score == min(1.0, boosted.why.total)
        assert boosted.why.signals["semantic"].contribution == pytest.approx(plain.why.total)


@one_engine
def test_the_order_goes_by_the_score_before_it_is_cut_to_one(documents, tree):
    text = "Users authenticate by password; authentication of users yields a token."
    tree.write_all({"a.md": f"{text} one two", "b.md": f"{text} one two three", "c.md": f"{text} one"})
    documents.add(tree)
    answer = documents.search_content(
        semantic_concepts=["user authentication by password"], exact_terms=["one", "two", "three", "token", "yields"]
    )
    assert paths(answer) == ["b.md", "a.md", "c.md"]
    assert [result.relevance_score for result in answer.data.results] == [1.0, 1.0, 1.0]
    totals = [result.why.total for result in answer.data.results]
    assert totals == sorted(totals, reverse=True)
    assert totals[0] > totals[1] > totals[2] > 1


@one_engine
def test_an_unrelated_text_is_not_rescued_by_an_exact_term(documents, tree):
    tree.write("bread.md", "Sourdough bread is baked in a hot oven with steam. zyzzyva")
    documents.add(tree)
    asked = {"semantic_concepts": ["kubernetes network policies"], "exact_terms": ["zyzzyva"]}
    assert not documents.search_content(**asked).data.results
    [kept] = documents.search_content(**asked, min_score=0).data.results
    assert kept.relevance_score == kept.why.total < 0.5


def test_the_least_score_is_a_half_with_concepts_and_nothing_without(real):
    concept, term = {"semantic_concepts": ["chunks of Markdown by headings"]}, {"exact_terms": ["pool"]}
    best = real.search_content(**concept).data.results[0].relevance_score
    assert best < 1
    ids = {
        name: [result.chunk_id for result in real.search_content(**asked, limit=50).data.results]
        for name, asked in {
            "default": concept,
            "half": {**concept, "min_score": 0.5},
            "strict": {**concept, "min_score": best},
            "exact": term,
            "exact from 0": {**term, "min_score": 0},
        }.items()
    }
    assert ids["default"] == ids["half"]
    assert set(ids["strict"]) < set(ids["default"])
    assert ids["exact"] == ids["exact from 0"] != []


def test_every_result_has_all_it_needs(real, chunks_of):
    answer = real.search_content(semantic_concepts=["postgres connection pool"], exact_terms=["pool"])
    for result in answer.data.results:
        [chunk] = real.get_chunks(result.folder_id, [result.chunk_id])
        assert result.content == chunk.content != ""
        assert (result.chunk_index, result.start_line, result.end_line) == (
            chunk.chunk_index,
            chunk.start_line,
            chunk.end_line,
        )
        assert 0 <= result.relevance_score <= 1
        assert result.folder_id == "athand"
        assert len(result.document_keywords) <= 7
        assert set(result.to_dict()) >= set(
            "chunk_id document_id content relevance_score chunk_index document_keywords folder_id heading why".split()
        )
    shown = answer.to_dict()
    assert set(shown) >= {"data", "status", "continuation", "navigation_hints", "freshness"}
    assert shown["data"]["results"][0]["why"]["total"] == answer.data.results[0].why.total


def test_statistics_tell_of_all_matches_and_of_this_page(real):
    answer = real.search_content(exact_terms=["vector"], limit=3)
    statistics, results = answer.data.statistics, answer.data.results
    assert statistics.total_results > 3 == len(results)
    assert statistics.files_covered == tuple(dict.fromkeys(result.document_id for result in results))
    scores = [result.relevance_score for result in results]
    assert statistics.avg_relevance == pytest.approx(sum(scores) / 3, abs=1e-4)
    assert answer.continuation.has_more


class TestFolders:
    @pytest.fixture(autouse=True)
    def three(self, documents, tmp_path):
        for name in ("one", "two", "three"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "a.md").write_text(f"needle of {name}")
            documents.add(tmp_path / name)

    def folders(self, answer):
        return sorted(result.folder_id for result in answer.data.results)

    def test_one_several_or_all_are_searched(self, documents):
        every = ["one", "three", "two"]
        for given, searched in (
            ("one", ["one"]),
            (["one", "three"], ["one", "three"]),
            (("two",), ["two"]),
            (["one", "one"], ["one"]),
            *((nothing, every) for nothing in (None, "", [], ())),
        ):
            assert self.folders(documents.search_content(given, exact_terms=["needle"])) == searched

    @one_engine
    def test_an_unknown_one_is_an_error_that_says_so(self, documents):
        for given in ("four", ["one", "four"], "../one", "ONE", "one\0"):
            with pytest.raises((NotFound, InvalidInput)):
                documents.search_content(given, exact_terms=["needle"])

    @one_engine
    def test_every_folder_has_its_age_in_the_answer(self, documents):
        answer = documents.search_content(["one", "two"], exact_terms=["needle"])
        assert set(answer.freshness) == {"one", "two"}
        assert all(each["age_seconds"] >= 0 and each["state"] == "ready" for each in answer.freshness.values())


class TestPaths:
    @pytest.fixture(autouse=True)
    def folder(self, documents, tree):
        for path in ("a.md", "docs/a.md", "docs/api/b.md", "docs/api/c.txt", "src/a.py"):
            tree.write(path, "needle = 1\n")
        documents.add(tree)

    def test_a_path_keeps_to_what_it_fits(self, documents):
        for path, expected in {
            "docs": "docs/a.md docs/api/b.md docs/api/c.txt",
            "docs/": "docs/a.md docs/api/b.md docs/api/c.txt",
            "docs/api": "docs/api/b.md docs/api/c.txt",
            "docs/*.md": "docs/a.md",
            "docs/**/*.md": "docs/a.md docs/api/b.md",
            "*.py": "src/a.py",
            "a.md": "a.md docs/a.md",
            "[!a]*.md": "docs/api/b.md",
            "nowhere": "",
            "../*": "",
        }.items():
            answer = documents.search_content(exact_terms=["needle"], path=path)
            assert sorted(paths(answer)) == sorted(expected.split())
            assert {hit.item.document_id for hit in documents.search("needle", path=path)} == set(expected.split())
            assert answer.data.statistics.total_results == len(expected.split())


class TestAnEmptyStore:
    @pytest.mark.parametrize(
        "asked",
        [{"exact_terms": ["x"]}, {"semantic_concepts": ["x"]}, {"semantic_concepts": ["x"], "exact_terms": ["y"]}],
    )
    def test_finds_nothing_and_says_what_to_do(self, documents, asked):
        answer = documents.search_content(**asked)
        assert answer.status.success
        assert answer.data.results == ()
        assert answer.notes == ()
        assert "add(" in answer.navigation_hints.next_actions[0]

    @one_engine
    def test_so_does_a_folder_without_documents(self, documents, tree):
        folder = documents.add(tree)
        for asked in ({"exact_terms": ["x"]}, {"semantic_concepts": ["x"]}):
            assert documents.search_content(folder.folder_id, **asked).data.results == ()
        assert documents.search("x") == []
        assert len(documents.find_documents("x")) == 0


@one_engine
class TestWithoutTheModel:
    """While concepts cannot be compared, what is there literally is found all the same."""

    @pytest.fixture
    def broken(self, documents, tree, monkeypatch):
        tree.write("a.md", "The connection pool of postgres")
        documents.add(tree)
        monkeypatch.setattr(documents.embedder, "attempt", lambda action: None)
        documents.embedder.problem = "the model is away"
        return documents

    def test_exact_terms_still_answer_with_a_note(self, broken):
        answer = broken.search_content(semantic_concepts=["database"], exact_terms=["pool"])
        assert [result.relevance_score for result in answer.data.results] == [pytest.approx(1 / 3)]
        assert answer.data.results[0].why.total == pytest.approx(1 / 3)
        assert "the model is away" in answer.notes[0]
        assert "database" not in answer.data.statistics.search_interpretation

    def test_concepts_alone_are_an_error_that_says_why(self, broken):
        with pytest.raises(Exception, match="the model is away"):
            broken.search_content(semantic_concepts=["database"])

    def test_once_the_model_is_back_it_is_used_again(self, documents, broken, monkeypatch):
        asked = {"semantic_concepts": ["postgres connection pool"], "exact_terms": ["pool"], "min_score": 0}
        assert broken.search_content(**asked).notes
        monkeypatch.undo()
        answer = documents.search_content(**asked)
        assert not answer.notes
        assert "semantic" in answer.data.results[0].why.signals


def test_a_search_takes_less_than_its_time_and_a_page_even_less(real):
    real.search_content(semantic_concepts=["warm"], exact_terms=["up"])
    times = []
    for asked in (
        {"semantic_concepts": ["postgres connection pool"], "min_score": 0},
        {"exact_terms": ["vector", "the"]},
        {"semantic_concepts": ["tokens"], "exact_terms": ["token", "a"], "min_score": 0},
    ):
        began = time.monotonic()
        answer = real.search_content(**asked)
        between = time.monotonic()
        assert real.search_content(continuation_token=answer.continuation.next_token).data.results
        times.append((between - began, time.monotonic() - between))
    assert min(first for first, _ in times) < PATIENCE
    assert min(second for _, second in times) < PATIENCE
