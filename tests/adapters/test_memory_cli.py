import re

import pytest

TIMES = "\N{MULTIPLICATION SIGN}"


def test_everything_there_is_to_say_about_a_memory_can_be_said(run):
    added = run(
        *("memory", "add", "We keep carts in PostgreSQL", "--project", "shop", "--session", "s1", "--tier", "global"),
        *("--type", "decision", "--importance", "0.9", "--tag", "db", "--tag", "carts", "--concept", "PostgreSQL"),
        *("--file", "cart.py", "--summary", "Carts: PostgreSQL", "--context", "storage", "--author", "mira"),
        *("--created-at", "2024-05-01", "--valid-from", "2024-05-02", "--valid-until", "2099-01-01", "--pin"),
        *("--id", "carts", "--key", "k1", "--json"),
    ).json
    expected = {
        "id": "carts",
        "project": "shop",
        "session": "s1",
        "tier": "global",
        "memory_type": "decision",
        "sector": "reflective",
        "importance": 0.9,
        "tags": ["db", "carts"],
        "concepts": ["PostgreSQL"],
        "files": ["cart.py"],
        "summary": "Carts: PostgreSQL",
        "context": "storage",
        "author": "mira",
        "written_by": "user",
        "created_at": "2024-05-01T00:00:00+00:00",
        "valid_from": "2024-05-02T00:00:00+00:00",
        "valid_until": "2099-01-01T00:00:00+00:00",
        "pinned": True,
    }
    assert {name: added[name] for name in expected} == expected
    other = run("memory", "add", "x", "--written-by", "agent", "--sector", "episodic", "--json").json
    assert (other["written_by"], other["sector"]) == ("agent", "episodic")


def test_adding_shows_what_is_similar_and_how_to_supersede_it(run, add):
    add("Auth tokens rotate every 24 h", "--id", "old")
    added = run("memory", "add", "Auth tokens rotate every 12 h", "--id", "new")
    assert added.out.startswith("Remembered new in default")
    assert "Auth tokens rotate every 24 h" in added.err
    assert "athand memory supersede old new" in added.err


def test_adding_the_same_again_says_so(run, add):
    add("Staging deploys need the VPN", "--id", "vpn")
    again = run("memory", "add", "Staging deploys need the VPN")
    assert "Remembered already as vpn" in again.out
    assert "reinforced" in again.err
    assert run("memory", "add", "Staging deploys need the VPN", "--json").json["deduplicated"] is True


def test_what_looks_secret_is_left_out_and_that_is_said(run):
    added = run("memory", "add", "the key is ghp_abcdefghijklmnopqrstuvwxyz0123456789 here")
    assert "ghp_" not in added.out
    assert "left out" in added.err


def test_a_hit_shows_its_reasons(run, tokens):
    shown = run("memory", "search", "token rotation", "--superseded").out
    assert "keyword █" in shown
    assert "meaning █" in shown
    assert "by both: token, rotation" in shown
    assert f"semantic {TIMES}1.01" in shown
    assert "superseded by new “Auth tokens rotate every 12 h since the audit”" in shown
    assert "session “audit follow-up”" in shown
    assert "<mark>" not in shown


def test_a_long_memory_is_shown_by_the_sentences_that_matched(run, add):
    add("The first sentence is about nothing. " + "Filler words stand here. " * 30 + "The zebra is striped.")
    shown = run("memory", "search", "zebra").out
    assert "“The zebra is striped.”" in shown


def test_words_that_matched_stand_out_in_colour(run, add, monkeypatch):
    add("Staging deploys need the VPN")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "33mStaging" in run("memory", "search", "staging").out


def test_scores_have_the_colour_of_their_value(run, add, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    add("Staging deploys need the VPN")
    add("Staging has no printer")
    add("Tulips grow in spring")
    question = ("memory", "search", "staging deploys need the VPN", "--min-score", "0")
    scores = [hit["score"] for hit in run(*question, "--json").json["hits"]]
    assert scores[0] >= 0.5 > scores[1] >= 0.25 > scores[2]
    colours = [f"\x1b[{code}m {score:.2f}" for code, score in zip((32, 33, 2), scores, strict=True)]
    shown = run(*question).out
    assert [each for each in colours if each in shown] == colours


def test_an_id_with_a_typo_is_answered_with_the_nearest_one(run, add):
    memory = add("Staging deploys need the VPN")
    session = run("memory", "start-session", "--project", "shop", "-q").out.strip()
    for words, id_ in ((("show",), memory), (("end-session",), session)):
        mistyped = f"{id_[:5]}-{id_[6:]}"
        assert f"Did you mean {id_}?" in run("memory", *words, mistyped).err
        assert "Did you mean" not in run("memory", *words, "something else").err


def test_search_takes_every_filter(run, tokens):
    def found(*arguments):
        return {hit["id"] for hit in run("memory", "search", "tokens", "--json", *arguments).json["hits"]}

    assert found() == {"new", "cache"}
    assert found("--superseded") == {"old", "new", "cache"}
    assert found("--as-of", "2024-11-10") == {"old"}
    assert found("--in-session", "audit") == {"new"}
    assert found("--sector", "reflective") == {"cache"}
    assert found("--tier", "global") == found("--type", "gotcha") == found("--tag", "none") == set()
    assert found("--project", "shop", "--limit", "1") <= {"new", "cache"}
    assert found("--min-score", "1.0", "--mode", "semantic") == set()
    assert found("--min-salience", "0.9") == set()


def test_searching_reinforces_and_links_with_the_callers_session(run, tokens):
    def seen():
        return run("memory", "show", "cache", "--json").json["access_count"]

    run("memory", "search", "cache per worker", "--no-reinforce")
    assert seen() == 0
    run("memory", "search", "cache per worker", "--session", "mine", "--project", "shop")
    assert seen() == 1
    context = run("memory", "context", "cache", "--json").json
    assert (context["session"]["id"], context["usage_type"]) == ("mine", "recalled")


def test_explain_tells_factors_from_parts(run, add):
    add("Tokens rotate every day")

    def salience(*arguments):
        shown = run("memory", "search", "tokens", "--explain", *arguments).out
        return next(line.split() for line in shown.splitlines() if "salience" in line)

    assert salience()[:3] == ["salience", "1.000", f"{TIMES}1.100"]
    assert salience("--weights", "seed") == ["salience", "1.000", "1.000", "0.20", "+0.200"]


def test_documents_are_asked_beside_memories(run, tokens):
    asked = run("memory", "documents", "tokens")
    assert asked.code == 0
    assert "No folder of documents" in asked.err
    assert run("memory", "documents", "tokens", "--json").json["hits"] == []
    assert "No folder of documents" in run("memory", "search", "tokens", "--documents").err


def test_the_list_shows_what_matters_and_what_holds(run, tokens, add):
    add("Answers are short", "--pin", "--tier", "global", "--project", "home")
    run("memory", "delete", "cache")
    lines = {line.split()[0]: line for line in run("memory", "list", "--deleted").out.splitlines()}
    assert "superseded · Auth tokens rotate" in lines["old"]
    assert "deleted · Decided" in lines["cache"]
    assert "░" in lines["new"]
    assert "shop" in lines["new"]
    assert any("pinned · global · Answers are short" in line for line in lines.values())


def test_the_list_says_when_no_person_wrote_a_memory(run, add):
    add("Deploys go out on Fridays", "--pin", "--written-by", "agent")
    add("Deploys wait for the smoke test", "--pin")
    listed = run("memory", "list").out
    assert "pinned and written by agent · Deploys go out" in listed
    assert "pinned · Deploys wait" in listed


def test_the_list_takes_every_filter(run, tokens, add):
    add("An agent wrote this", "--written-by", "agent", "--author", "bot", "--tag", "a", "--pin", "--id", "bot")

    def ids(*arguments):
        return set(run("memory", "list", "--quiet", *arguments).out.split())

    assert ids("--project", "shop") == {"old", "new", "cache"}
    assert ids("--superseded") == {"old"}
    assert ids("--current", "--not-pinned") == {"new", "cache"}
    assert ids("--pinned") == ids("--author", "bot") == ids("--written-by", "agent") == ids("--tag", "a") == {"bot"}
    assert ids("--since", "2024-11-10", "--until", "2024-12-01") == {"new", "cache"}
    assert ids("--in-session", "audit") == {"new"}
    assert ids("--max-salience", "0.9", "--sector", "semantic") == {"old", "new"}
    assert ids("--min-salience", "0.99") == {"bot"}
    assert ids("--limit", "1") == {"bot"}
    assert "No memory passes these filters" in run("memory", "list", "--project", "nowhere").err
    assert "Did you mean shop?" in run("memory", "list", "--project", "shpo").err


def test_a_narrow_terminal_gets_shorter_lines(run, tokens, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    for command in (("list",), ("timeline", "new"), ("show", "new"), ("search", "tokens"), ("stats",), ("sessions",)):
        shown = run("memory", *command).out
        assert max(map(len, shown.splitlines())) <= 60, shown


def test_show_tells_where_a_memory_came_from_and_what_it_is_related_with(run, tokens):
    run("memory", "update", "new", "--author", "mira", "--tag", "auth")
    shown = run("memory", "show", "new").out
    for part in ("mira", "written by  a user", "audit “audit follow-up”", "now, ", "stored", "→ SUPERSEDES", "auth"):
        assert part in shown, part
    old = run("memory", "show", "old").out
    assert "until 2024-11-12" in old
    assert "by new  Auth tokens rotate every 12 h" in old
    assert run("memory", "show", "old", "--quiet").out == "Auth tokens rotate every 24 h\n"


def test_stored_text_cannot_steer_the_terminal_or_the_layout(run, add):
    add("[red]no markup[/red] \x1b[2J and no escapes", "--id", "wild", "--project", "[bold]")
    for command in (("list",), ("show", "wild"), ("search", "markup"), ("timeline", "wild"), ("stats",)):
        shown = run("memory", *command).out
        assert "\x1b" not in shown
        assert "[red]" in shown or "[bold]" in shown


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("update", "x"), 2, "Change what?"),
        (("update", "x", "--content", "y"), 1, "No memory 'x'"),
        (("timeline", "x"), 1, "No memory 'x'"),
        (("related", "x"), 1, "No memory 'x'"),
        (("context", "x"), 1, "No memory 'x'"),
        (("pin", "x"), 1, "No memory 'x'"),
        (("supersede", "x", "y"), 1, "No memory 'x'"),
        (("end-session", "x"), 1, "No session 'x'"),
        (("add", "x", "--sector", "y"), 2, "'y' is not one of"),
        (("add", "x", "--importance", "7"), 2, "'--importance': it must be a number from 0 to 1"),
        (("add", "x", "--tier", "session"), 2, "shows in its session only"),
        (("search", "x", "--as-of", "soon"), 2, "is not a time"),
        (("search", "x", "--in-session", "y"), 1, "No session 'y'"),
        (("forget", "--max-salience", "7"), 2, "'--max-salience': it must be a number from 0 to 1"),
        (("brief", "--max-tokens", "-1"), 2, "'--max-tokens': it must be a whole number"),
        (("delete",), 2, "Missing argument"),
    ],
)
def test_a_mistake_is_one_clear_sentence_with_the_right_exit_code(run, arguments, code, message):
    outcome = run("memory", *arguments)
    assert outcome.code == code
    assert message in outcome.err
    assert outcome.out == ""
    assert "Traceback" not in outcome.err


def test_the_help_of_the_group_is_in_sections_and_no_line_is_cut(run):
    shown = run("memory", "--help").out
    places = [shown.index(heading) for heading in ("Keep and find:", "Change:", "Time and sessions:", "Everything:")]
    assert places == sorted(places)
    assert "..." not in shown.split("Options:")[1]


@pytest.mark.parametrize("command", ["memory search", "search", "memory brief", "memory show m"])
def test_what_an_agent_wrote_is_not_shown_as_the_word_of_a_person(run, add, command):
    add("The owner wants beans in every pot", "--id", "m", "--written-by", "agent")
    given = ["beans"] if command.endswith("search") else []
    shown = run(*command.split(), *given)
    assert re.search(r"by +(?:an )?agent", shown.out)
