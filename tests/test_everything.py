"""One search over memories, documents, tools and flows."""

from datetime import UTC, datetime, timedelta

import pytest

from athand import Athand
from athand.app import CORPORA
from athand.calibration import to_scores, to_total
from athand.errors import InvalidInput
from athand.flows import Observation

NOW = datetime.now(UTC)
PIPELINES = {"name": "trigger_pipeline", "description": "Starts a pipeline that deploys a branch to staging."}
ISSUES = {"name": "create_issue", "description": "Creates an issue in a repository."}


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A store with something of every kind in it; no test changes it."""
    folder = tmp_path_factory.mktemp("notes")
    (folder / "deploy.md").write_text("# Deploying\n\n## Staging\n\nRun `make release`, then deploy to staging.\n")
    (folder / "holidays.md").write_text("# Holidays\n\nTell the team two weeks before you leave.\n")
    with Athand(":memory:") as opened:
        for number, text in enumerate(("Staging deploys need the VPN", "We deploy on Tuesdays", "Mira likes tea")):
            opened.memories.add(text, project="shop" if number < 2 else "home", created_at=NOW - timedelta(days=number))
        opened.documents.add(folder, folder_id="notes")
        opened.tools.add("ci", [PIPELINES])
        opened.tools.add("github", [ISSUES])
        session = opened.flows.start_session(goal="Deploy a preview to staging", app="console", id="preview")
        for test_id in ("releases-tab", "deploy-button"):
            seen = Observation("releases", "https://console.test/", [{"testId": test_id}])
            opened.flows.record(session.id, tool="ui_click", target={"testId": test_id}, before=seen)
        yield opened


def test_all_corpora_answer_in_one_order(full):
    hits = full.search("deploy to staging")
    assert {hit.corpus for hit in hits} == {"memories", "documents", "tools", "flows"}
    totals = [hit.why.total for hit in hits]
    assert totals == sorted(totals, reverse=True)


@pytest.mark.parametrize(
    "query", ["deploy to staging", "trigger_pipeline", "tea", "Deploy a preview to staging", "vpn"]
)
def test_the_reasons_add_up_to_the_score_on_the_common_scale(full, query):
    for hit in full.search(query, min_score=0.0):
        together = sum(signal.contribution for signal in hit.why.signals.values())
        assert hit.why.total == pytest.approx(together, abs=1e-9)
        assert hit.score == pytest.approx(min(1.0, max(0.0, together)), abs=1e-9)
        assert hit.why.signals["scale"].raw == pytest.approx(
            sum(each.contribution for name, each in hit.why.signals.items() if name != "scale"), abs=1e-9
        )


def test_a_corpus_asked_alone_keeps_its_own_scores_and_order(full):
    for corpus in ("memories", "documents", "flows"):
        own = getattr(full, corpus).search("deploy to staging")
        assert all("scale" not in hit.why.signals for hit in own)
    alone = full.search("deploy to staging", corpora=["memories"])
    assert [hit.id for hit in alone] == [hit.id for hit in full.memories.search("deploy to staging", reinforce=False)]


@pytest.mark.parametrize("corpus", CORPORA, ids=lambda corpus: corpus.name)
def test_the_scale_rises_without_end_and_can_be_read_backwards(corpus):
    totals = [at / 50 for at in range(-10, 150)]
    scores = to_scores(corpus.points, totals)
    assert scores == sorted(set(scores))
    assert to_scores(corpus.points, [0.0]) == [0.0]
    assert [to_total(corpus.points, score) for score in scores] == pytest.approx(totals, abs=1e-9)


def test_the_same_words_score_near_one_in_every_corpus(full):
    asked = {
        "memories": "Staging deploys need the VPN",
        "documents": "Run make release, then deploy to staging",
        "tools": "trigger_pipeline",
        "flows": "Deploy a preview to staging",
    }
    for corpus, words in asked.items():
        assert full.search(words, corpora=[corpus])[0].score > 0.8, corpus


def test_min_score_counts_on_the_common_scale(full):
    every = full.search("deploy to staging", min_score=0.0, limit=50)
    for least in (0.2, 0.5, 0.8):
        kept = full.search("deploy to staging", min_score=least, limit=50)
        assert [hit.id for hit in kept] == [hit.id for hit in every if hit.why.total >= least]
    with pytest.raises(InvalidInput, match="min_score"):
        full.search("deploy", min_score=7)


def test_nothing_is_found_for_what_nothing_is_about(full):
    for query in ("qwxyz zzgrmpf", "eigenvalues of a hermitian matrix", "why do cats purr", "run a marathon"):
        assert not full.search(query), query


def test_one_word_is_found_by_another_that_means_the_same():
    with Athand(":memory:") as opened:
        opened.memories.add("the physician was late")
        assert [hit.title for hit in opened.search("doctor")] == ["the physician was late"]


def test_the_closest_are_named_only_where_nothing_fits(full):
    assert full.search("deploy to staging").closest == ()
    nothing = full.search("trigger the pipes of an organ in a baroque concert hall", min_score=1.0)
    assert nothing == []
    assert "ci__trigger_pipeline" in nothing.closest


def test_facets_count_all_that_fits_and_not_only_what_is_shown(full):
    every = full.search("deploy to staging", limit=50)
    first = full.search("deploy to staging", limit=1)
    assert len(first) == 1
    assert first.facets == every.facets
    for corpus in ("memories", "documents", "tools", "flows"):
        assert every.facets[corpus] == sum(hit.corpus == corpus for hit in every)
    assert every.facets["projects"] == {"shop": 2}
    assert every.facets["folders"] == {"notes": 1}
    assert every.facets["servers"] == {"ci": 1}
    assert every.facets["apps"] == {"console": 1}


def test_a_word_that_one_corpus_knows_is_not_corrected_by_another():
    with Athand(":memory:") as opened:
        opened.memories.add("The kubelet runs on every node")
        opened.tools.add("toys", [{"name": "play_kublet", "description": "Plays with a kublet."}])
        hits = opened.search("kubelet")
        assert hits[0].corpus == "memories"
        assert hits.did_you_mean == {}
        assert "kubellet" in opened.search("kubellet").did_you_mean


def test_filters_leave_the_corpora_that_know_them(full):
    assert {hit.corpus for hit in full.search("deploy to staging", folder_id="notes")} == {"documents"}
    assert {hit.corpus for hit in full.search("deploy to staging", app="console")} == {"flows"}
    assert {hit.item.project for hit in full.search("deploy", project="shop") if hit.corpus == "memories"} == {"shop"}


def test_an_empty_question_finds_nothing_and_says_nothing(full):
    hits = full.search("   ")
    assert (list(hits), hits.did_you_mean, hits.closest, hits.facets) == ([], {}, (), {})


def test_a_search_over_everything_counts_as_one_of_tools_with_the_tools_that_it_returns(full):
    before = full.tools.stats()
    assert any(hit.corpus == "tools" for hit in full.search("deploy to staging"))
    after = full.tools.stats()
    assert after.searches == before.searches + 1 and after.tokens_per_search > 0
