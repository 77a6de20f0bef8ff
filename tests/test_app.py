import logging
import threading

import pytest

import athand
from athand import Athand, Settings
from athand.config import load_settings
from athand.errors import InvalidInput, StoreError, Unavailable


def test_the_public_names_are_these():
    assert sorted(athand.__all__) == [
        "Athand", "Hit", "Hits", "Memory", "SEED_WEIGHTS", "Settings", "Signal", "Status", "Weights", "Why",
        "errors",
    ]  # fmt: skip
    for name in athand.__all__:
        assert getattr(athand, name)
    with pytest.raises(AttributeError):
        athand.nothing  # noqa: B018


def test_one_search_covers_everything(athand):
    athand.memories.add("Staging deploys need the VPN", project="shop")
    [hit] = athand.search("how do I deploy to staging?")
    assert (hit.corpus, hit.title, hit.item.project) == ("memories", "Staging deploys need the VPN", "shop")
    assert athand.search("deploy", corpora=["memories"])
    assert athand.search("deploy", project="elsewhere") == []
    with pytest.raises(InvalidInput, match=r"No corpus named films\. Known: memories"):
        athand.search("deploy", corpora=["films"])


def test_what_is_closed_stays_closed(tmp_path):
    for location in (":memory:", str(tmp_path / "store.db")):
        athand_ = Athand(location)
        athand_.close()
        with pytest.raises(StoreError, match="was closed"):
            athand_.memories.add("too late")


def test_status_says_what_there_is(athand):
    athand.memories.add("one")
    athand.memories.add("two", project="p")
    status = athand.status()
    assert status.corpora["memories"] == {"count": 2, "projects": 2}
    assert status.model["dimensions"] == 384
    assert status.problems == ()


def test_hits_become_plain_json(athand):
    athand.memories.add("Staging deploys need the VPN")
    shown = athand.search("staging").to_dict()
    assert shown["hits"][0]["score"] == min(1, shown["hits"][0]["why"]["total"])
    assert shown["hits"][0]["item"]["created_at"].endswith("+00:00")


def test_without_a_model_everything_goes_on_by_keyword_and_says_so(athand, monkeypatch, caplog):
    def unavailable(*_):
        raise Unavailable("The model is on holiday.")

    monkeypatch.setattr("athand.embed.loader.load_embedder", unavailable)
    with caplog.at_level(logging.WARNING):
        athand.memories.add("Staging deploys need the VPN")
        hits = athand.search("staging")
    assert len(hits) == 1
    assert "semantic" not in hits[0].why.signals
    assert hits[0].match_type == "keyword"
    assert hits.notes == ("Searched by keyword only: The model is on holiday.",)
    assert athand.status().problems == ("searching by keyword only: The model is on holiday.",)
    assert caplog.text.count("on holiday") == 1


def test_an_unknown_model_is_refused_at_once():
    with pytest.raises(InvalidInput, match=r"No model named 'all-minilm'.*all-MiniLM-L6-v2"):
        Athand(":memory:", model="all-minilm")


def test_after_a_change_of_model_keywords_serve_until_the_vectors_are_made(tmp_path, minilm_like):
    path = str(tmp_path / "store.db")
    with Athand(path) as before:
        before.memories.add_many({"content": f"memory number {number}", "id": f"m{number}"} for number in range(50))
    with Athand(path, model=str(minilm_like)) as after:
        first = after.search("memory number 7")
        assert first.notes[0].startswith("Searched by keyword only")
        after._background.join()
        second = after.search("memory number 7")
        assert second.notes == ()
        assert "semantic" in second[0].why.signals
        assert after.check() == []


@pytest.fixture
def minilm_like(tmp_path):
    """Another model: the bundled one under another name."""
    import shutil

    from athand.embed import loader

    folder = tmp_path / "other-model"
    shutil.copytree(loader.BUNDLED, folder)
    return folder


def test_one_store_serves_several_threads(tmp_path):
    with Athand(str(tmp_path / "store.db")) as athand:
        errors = []

        def work(number):
            try:
                for turn in range(10):
                    athand.memories.add(f"thread {number} turn {turn}", project=f"p{number}")
                    assert athand.search(f"thread {number} turn {turn}", project=f"p{number}")
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert athand.status().corpora["memories"]["count"] == 80


def test_settings_come_from_the_file_and_the_environment_wins(tmp_path):
    file = tmp_path / "config.toml"
    file.write_text('store = "from-file.db"\nmodel = "all-MiniLM-L6-v2"\n')
    settings = load_settings({"ATHAND_STORE": "from-environment.db", "ATHAND_NO_CACHE": "1"}, file)
    assert (settings.store, settings.model, settings.no_cache) == ("from-environment.db", "all-MiniLM-L6-v2", True)


def test_where_data_lives(tmp_path):
    assert load_settings({"ATHAND_HOME": "/h"}, tmp_path / "no").location == "/h/athand.db"
    assert load_settings({"ATHAND_HOME": "/h", "ATHAND_DATA_DIR": "/d"}, tmp_path / "no").location == "/d/athand.db"
    assert load_settings({"ATHAND_STORE": "/s.db", "ATHAND_DATA_DIR": "/d"}, tmp_path / "no").location == "/s.db"
    assert Settings().location.endswith("athand/athand.db")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stroe = 'x'", "unknown settings: stroe. Known: store"),
        ("= broken", "not valid TOML"),
        ("model = 5", "model must be text"),
    ],
)
def test_a_bad_config_file_is_explained(tmp_path, text, message):
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=message):
        load_settings({}, file)


def test_a_key_is_not_shown():
    assert "hush" not in repr(load_settings({"ATHAND_EMBEDDINGS_KEY": "hush"}))


def test_bad_settings_are_explained(tmp_path):
    with pytest.raises(InvalidInput, match="ATHAND_NO_CACHE must be 1 or 0"):
        load_settings({"ATHAND_NO_CACHE": "perhaps"}, tmp_path / "no")
    with pytest.raises(InvalidInput, match="device must be auto, cpu or gpu"):
        load_settings({"ATHAND_DEVICE": "tpu"}, tmp_path / "no")


def test_a_part_that_cannot_be_closed_keeps_no_other_open(tmp_path, monkeypatch):
    athand = Athand(tmp_path / "store.db")

    def stuck():
        raise Unavailable("The browser is stuck.")

    monkeypatch.setattr(athand.flows, "close", stuck)
    with pytest.raises(Unavailable, match="stuck"):
        athand.close()
    with pytest.raises(StoreError, match="closed"):
        athand.memories.list()
