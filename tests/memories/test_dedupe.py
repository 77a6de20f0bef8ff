import re
import subprocess
import sys
import time
from itertools import combinations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from athand.memories.dedupe import (
    CLOSE_BITS,
    fingerprint,
    is_near_duplicate,
    near_duplicate_key,
    normalize,
    simhash,
)

DEPLOY = "The nightly deploy of the web shop needs the VPN and two free build machines"

# Each line holds two texts: what differs stands in braces.
THE_SAME = [
    "The nightly deploy of the web shop needs the VPN and two free build machines",
    "The nightly deploy of the web shop needs the VPN and two free build machines{|.}",
    "The nightly deploy of the web shop needs the VPN and two free build machines{|!}",
    "{The|Our} nightly deploy of the web shop needs the VPN and two free build machines",
    "{The nightly|Nightly} deploy of the web shop needs the VPN and two free build machines",
    "The nightly deploy of the web shop {|also} needs the VPN and two free build machines",
    "The nightly deploy of the web shop {|currently} needs the VPN and two free build machines",
    "The nightly deploy of the web shop needs the VPN and two free build machine{s|}",
    "The nightly deploy of the {web shop|\n  web\tshop} needs the VPN and two free build machines",
    "The nightly deploy of the web shop needs {|(}the VPN{|)} and two free build machines",
    "The nightly deploy of the {web shop|“web shop”} needs the VPN and two free build machines",
    "Note {that|} the user prefers dark mode in every {editor.|editor}",
    "{The parser doesn't|Parser does not} accept tabs in {the|} indentation of lists",
    "{It's|It is} the gateway that checks the token of each request",
    "We {can't|cannot} restart the worker while {an|the} import is running",
    "{We\u2019re|We are} using {`ruff`|ruff} for linting and for formatting all code",
    "{Users|The users} of the beta see the banner on each page",
    "Alice {said,|said} that Bob owns the release of the {API.|API}",
    "Run make {lint,|lint} then push the branch to the remote",
]

DIFFERENT = {
    "a number": [
        "The retry limit of the uploader is set to {12|24} attempts",
        "The old service speaks {v1|v2} of the protocol to all clients",
        "The nightly job needs {two|three} free build machines to finish",
        "The release is planned for {2024-05-08|2024-06-08} if all tests pass",
        "The cache answers in about 5 {ms|s} when it is warm",
        "The upper shelf in the hall hangs at {6'|6\"} above ground",
        "The temperature in the cold store is kept at {-5|5} degrees",
        "The upload limit for each of the users is 5 {MB|GB}",
        "The {first|second} build of the day takes longer than others",
        "The discount for our partners in the shop is {5%|5}",
    ],
    "a negation or an opposite": [
        "The parser does {|not} accept tabs in the indentation of lists",
        "The parser {doesn't|does} accept tabs in the indentation of lists",
        "{Always|Never} run the migration by hand before the deploy",
        "Run the migration by hand {before|after} the deploy of the shop",
        "The feature flag is {enabled|disabled} for all users in production",
        "The firewall will {allow|deny} traffic from the office to staging",
        "The job can start {with|without} a lock on the table",
        "Guests must {|not} be logged in to see the price list",
        "The light in the hall stays {on|off} during the night",
        "The spec is not {|clearly} defined for the empty list of words",
        "The build is {reproducible|irreproducible} on all of our machines",
        "The bug happens {only|} if the cache of the browser is cold",
        "Set the flag if {!enabled|enabled} is what the check of it says",
    ],
    "an identifier or a name": [
        "The tokens are checked in {src/auth/login.py|src/auth/logout.py} for each request",
        "The column {user_id|user_ids} of the orders table must be indexed",
        "Call {`getUser`|`getUsers`} to load the profile of the current person",
        "After the standup {Alice|Bob} takes over the release of the shop",
        "After the standup {William|Williams} takes over the release of the shop",
        "The team agreed on plan {A|} for the move of the office",
        "Set {LOG_LEVEL|LOG_LEVELS} for the worker before the start of the job",
        "The tool for the import of old data is written in {C|C++}",
        "Stage the changes of the branch for the commit with git add {.|}",
        "List the files of the folder with the command ls {-l|-a}",
        "Go up to the root of the project with cd {../..|../.}",
    ],
    "the order": [
        "In the new backend the {gateway|proxy} replaces the {proxy|gateway} for all calls",
        "{Alice|Bob} reports to {Bob|Alice} about the state of the shop",
        "The user prefers {tabs over spaces|spaces over tabs} in all the Python files",
    ],
    "time or person": [
        "The main service {is|was} hosted on a machine in Frankfurt",
        "The main service {uses|used} the queue of the old shop",
        "The client {has|is} notified the support about the outage today",
        "The copy of the contract is kept by {his|her} lawyer",
        "The server in the hall restarts each night at {noon|noon?}",
    ],
    "what it is about": [
        "The {staging|production} database is copied to the archive every night",
        "The login page of the shop has a {blue|green} background image",
        "The {|legacy} payments service writes its logs to the shared bucket",
    ],
}

SHORT = ["{The user|User} likes tea", "{The shop|Shop} is down again {now|}", "{the a|a the} an of is are"]

filler = st.sampled_from(["the", "a", "also", "is", "our"])
word = st.sampled_from(
    ["server", "deploy", "Alice", "not", "12", "`x_y`", "runs", "don't", "Users", "on", "night,", "é"]
)
sentence = st.lists(word | filler, max_size=14).map(" ".join)
long_words = st.lists(st.sampled_from("alpha bravo delta gamma kilo lima oscar tango".split()), min_size=9, max_size=30)


def both(line):
    return tuple(re.sub(r"\{(.*?)\|(.*?)\}", side, line, flags=re.DOTALL) for side in (r"\1", r"\2"))


@pytest.mark.parametrize("line", THE_SAME)
def test_texts_that_differ_in_nothing_that_tells_are_near_duplicates(line):
    one, other = both(line)
    assert is_near_duplicate(one, other)
    assert is_near_duplicate(other, one)
    assert near_duplicate_key(one) == near_duplicate_key(other) != ""


@pytest.mark.parametrize("line", [f"{why}: {line}" for why, lines in DIFFERENT.items() for line in lines])
def test_texts_that_differ_in_something_that_tells_are_not(line):
    one, other = both(line)
    assert is_near_duplicate(one, one)
    assert is_near_duplicate(other, other)
    assert not is_near_duplicate(one, other)


@pytest.mark.parametrize("line", SHORT)
def test_short_texts_are_never_near_duplicates(line):
    assert not is_near_duplicate(*both(line))


def test_texts_with_less_than_four_fifths_of_their_words_in_common_are_not_near_duplicates():
    plain = "fresh orders reach worker queues before shop invoices leave town"
    assert is_near_duplicate(plain, f"the {plain} also")
    assert not is_near_duplicate(plain, f"the {plain} also really")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("The user likes tea", "  the USER\n likes\ttea. "),
        ("STRASSE", "straße"),
        ("café", "cafe\u0301"),
        ("", " \n"),
    ],
)
def test_texts_are_exactly_the_same_despite_case_space_and_a_last_full_stop(text, same):
    assert normalize(text) == normalize(same)
    assert fingerprint(text) == fingerprint(same)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("10²", "102"),
        ("git add .", "git add"),
        ("cd ..", "cd ."),
        ("so?", "so"),
        ("a, b", "a b"),
        ("12", "1 2"),
        ("to be...", "to be"),
    ],
)
def test_punctuation_and_small_figures_count_for_exact_sameness(one, other):
    assert fingerprint(one) != fingerprint(other)


def test_a_fingerprint_is_a_sha256_in_hex():
    assert fingerprint("Abc.") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_simhash_is_the_same_in_every_process_and_fits_64_bits():
    program = f"from athand.memories.dedupe import simhash; print(simhash({DEPLOY!r}))"
    elsewhere = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(elsewhere.stdout) == simhash(DEPLOY)
    assert 0 < simhash(DEPLOY) < 1 << 64
    assert simhash("") == simhash("...") == 0


def test_texts_that_share_four_fifths_of_their_words_have_close_simhashes():
    words = "amber birch cedar daisy elder fennel ginger hazel iris jasmine kale laurel mint nettle olive poppy".split()
    texts = [" ".join([*words[:at], "other", *words[at + 1 :]]) for at in range(len(words))]
    distances = [(simhash(one) ^ simhash(other)).bit_count() for one, other in combinations(texts, 2)]
    assert sum(distance <= CLOSE_BITS for distance in distances) >= 0.95 * len(distances)
    assert (simhash(" ".join(words)) ^ simhash("The deploy of our shop needs a free machine")).bit_count() > CLOSE_BITS


@given(sentence, sentence)
def test_likeness_is_symmetric(one, other):
    assert is_near_duplicate(one, other) == is_near_duplicate(other, one)


@given(st.text(), st.text())
def test_any_two_texts_can_be_compared(one, other):
    assert is_near_duplicate(one, other) == is_near_duplicate(other, one)
    assert (fingerprint(one) == fingerprint(other)) == (normalize(one) == normalize(other))
    assert fingerprint(f" {one}\n") == fingerprint(one)


@given(long_words, st.integers(0, 9), st.integers(0, 10**6), st.integers(0, 10**6))
def test_texts_that_differ_in_a_number_never_merge(words, at, one, other):
    assume(one != other)
    texts = [" ".join([*words[:at], str(number), *words[at:]]) for number in (one, other)]
    assert is_near_duplicate(texts[0], texts[0])
    assert not is_near_duplicate(*texts)


@given(long_words, st.integers(0, 9), st.sampled_from("not never no without only except un off isn't".split()))
def test_texts_of_which_one_says_more_never_merge(words, at, more):
    assert not is_near_duplicate(" ".join(words), " ".join([*words[:at], more, *words[at:]]))


@given(long_words, st.integers(0, 8))
def test_texts_that_differ_in_one_word_that_tells_never_merge(words, at):
    assert not is_near_duplicate(" ".join(words), " ".join([*words[:at], "zulu", *words[at + 1 :]]))


@given(sentence, sentence)
def test_near_duplicates_have_one_gist(one, other):
    if is_near_duplicate(one, other):
        assert near_duplicate_key(one) == near_duplicate_key(other) != ""


@pytest.mark.parametrize("line", SHORT)
def test_a_short_text_has_no_gist(line):
    assert {near_duplicate_key(text) for text in both(line)} == {""}


@pytest.mark.parametrize("size", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "piece", ["word ", "don't ", "x", ")", "(", ".", " ", "é ", "漢字", "\u0301\u0323", "it's", "A the ", "`", "🦊"]
)
def test_two_long_texts_are_compared_at_once(piece, size):
    text = piece * (size // len(piece))
    started = time.process_time()
    assert not is_near_duplicate(text, text + "1")
    assert isinstance(near_duplicate_key(text), str)
    assert time.process_time() - started < size / 50_000  # thirty times what it takes


def test_a_difference_at_the_end_of_a_long_text_counts():
    text = "The deploy of the shop needs a machine. " * 5000
    assert is_near_duplicate(text + "The end", text + "end")
    assert not is_near_duplicate(text + "12", text + "13")
