def test_fields_are_changed_and_emptied(run, add):
    add("Tokens last 24 h", "--id", "t", "--tag", "a", "--author", "mira")
    updated = run("memory", "update", "t", "--content", "Tokens last 12 h", "--tag", "b", "--tag", "c", "--json").json
    assert (updated["content"], updated["tags"], updated["author"]) == ("Tokens last 12 h", ["b", "c"], "mira")
    cleared = run("memory", "update", "t", "--clear", "tags", "--clear", "author", "--json").json
    assert (cleared["tags"], cleared["author"]) == ([], None)
    assert "Updated t" in run("memory", "update", "t", "--type", "gotcha").err
    assert run("memory", "show", "t", "--json").json["sector"] == "procedural"


def test_an_update_reads_standard_input(run, add, pipe):
    add("before", "--id", "t")
    pipe(b"after\n")
    assert run("memory", "update", "t", "--content", "-", "--json").json["content"] == "after"


def test_an_update_of_what_somebody_changed_meanwhile_is_refused(run, add):
    add("Tokens last 24 h", "--id", "t")
    seen = run("memory", "show", "t", "--json").json["updated_at"]
    assert run("memory", "update", "t", "--importance", "0.9", "--expected-updated-at", seen).code == 0
    late = run("memory", "update", "t", "--importance", "0.1", "--expected-updated-at", seen)
    assert late.code == 1
    assert "was changed at" in late.err


def test_deleting_a_successor_says_what_it_had_superseded(run, tokens):
    assert "athand memory unsupersede old" in run("memory", "delete", "new").err
    run("memory", "restore", "new")
    assert "athand memory unsupersede old" in run("memory", "delete", "new", "--hard", "--yes").err
    run("memory", "unsupersede", "old")
    assert run("memory", "show", "old", "--json").json["valid_until"] is None


def test_forget_only_shows_until_it_is_meant(run, tokens, add):
    add("Pinned for good", "--project", "shop", "--pin", "--id", "pinned")
    before = run("memory", "export", "-").out
    shown = run("memory", "forget", "--project", "shop")
    assert shown.code == 0
    assert "Auth tokens rotate every 24 h" in shown.out
    assert "3 memories would be forgotten" in shown.err
    assert "athand memory forget --project shop --yes" in shown.err
    assert run("memory", "export", "-").out == before


def test_forget_really_forgets_and_spares_what_is_pinned(run, tokens, add):
    add("Pinned for good", "--project", "shop", "--pin", "--id", "pinned")
    gone = run("memory", "forget", "--project", "shop", "--yes", "--json").json
    assert [(each["id"], each["is_deleted"]) for each in gone] == [("old", True), ("new", True), ("cache", True)]
    assert run("memory", "list", "-q").out.split() == ["pinned"]
    assert run("memory", "restore", "new").code == 0
    assert "Erased 1 memory for good" in run("memory", "forget", "--project", "shop", "--hard", "--yes").err
    assert run("memory", "show", "new").code == 1


def test_forget_wants_to_know_what(run, tokens):
    for arguments in ((), ("--yes",), ("--hard", "--yes")):
        nothing = run("memory", "forget", *arguments)
        assert nothing.code == 2
        assert "Name at least one filter" in nothing.err
    assert "nothing to forget" in run("memory", "forget", "--tag", "unknown").err
    assert len(run("memory", "list", "--json").json) == 3


def test_pinning_and_salience(run, add):
    add("It matters", "--id", "t", "--created-at", "2024-01-01")
    assert "Pinned t" in run("memory", "pin", "t").err
    assert run("memory", "unpin", "t", "--json").json["pinned"] is False
    faded = run("memory", "show", "t", "--json").json["effective_salience"]
    assert run("memory", "reinforce", "t", "--amount", "0.5", "--session", "s", "--json").json["salience"] > faded
    assert "salience █" in run("memory", "reinforce", "t").err
    more = run("memory", "show", "t", "--json").json["salience"]
    assert run("memory", "deemphasize", "t", "--amount", "0.1", "--json").json["salience"] < more
    assert run("memory", "deemphasize", "t", "-q").out == "t\n"


def test_supersede_and_back(run, add):
    add("Tokens last 24 h", "--id", "old")
    add("Tokens last 12 h", "--id", "new")
    done = run("memory", "supersede", "old", "new")
    assert "athand memory unsupersede old" in done.err
    again = run("memory", "supersede", "old", "new")
    assert again.code == 1
    assert "superseded by new already" in again.err
    assert run("memory", "unsupersede", "old", "--json").json["valid_until"] is None
    assert run("memory", "unsupersede", "old").code == 1


def test_relations_are_made_and_shown_from_both_ends(run, tokens):
    relation = run("memory", "relate", "cache", "builds_on", "new", "--by", "mira", "--json").json
    assert relation["type"] == "BUILDS_ON"
    assert relation["by"] == "mira"
    assert "→ BUILDS_ON" in run("memory", "related", "cache").out
    assert "← BUILDS_ON" in run("memory", "related", "new").out
    assert {each["memory"]["id"] for each in run("memory", "related", "new", "--json").json} == {"old", "cache"}
    assert run("memory", "related", "cache", "-q").out == "new\n"
    assert "DEPENDS_ON" in run("memory", "relate", "cache", "DEPENDS_ON", "new").err
    assert run("memory", "relate", "cache", "LIKES", "new").code == 2


def test_a_memory_without_relations_says_how_to_make_one(run, add):
    add("alone", "--id", "a")
    assert "athand memory relate a" in run("memory", "related", "a").err
