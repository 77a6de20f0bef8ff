"""A typed secret that a later page shows in disguise is not kept; what only looks similar stays."""

import time
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote

import pytest

from athand.flows import Observation
from athand.flows.echo_masking import TypedSecrets
from athand.flows.secrets import MASK

PASSWORD, ODD, CARD = "hunter2-Blue!", "Pä§s wörd>?77~~", "4111 1111 1111 1111"
DISGUISES = {
    "base64": lambda value: b64encode(value.encode()).decode(),
    "base64_1": lambda value: b64encode(b"u:ann:p" + value.encode() + b"end").decode(),
    "base64_2": lambda value: b64encode(b"ann:p" + value.encode() + b"endof").decode(),
    "base64_3": lambda value: b64encode(b"ann" + value.encode()).decode(),
    "base64_url": lambda value: urlsafe_b64encode(b"a:" + value.encode()).decode().rstrip("="),
    "base64_in_url": lambda value: "https://x/?auth=" + quote(b64encode(b"a:" + value.encode()), safe=""),
    "base64_lines": lambda value: "\n".join(b64encode(value.encode()).decode()[at : at + 4] for at in range(0, 99, 4)),
    "hex": lambda value: value.encode().hex(),
    "hex_upper": lambda value: value.encode().hex(":").upper(),
    "hex_spaced": lambda value: value.encode().hex(" "),
    "hex_0x": lambda value: " ".join(f"0x{byte:02x}," for byte in value.encode()),
    "hex_escaped": lambda value: "".join(f"\\x{byte:02x}" for byte in value.encode()),
    "percent": lambda value: "".join(f"%{byte:02X}" for byte in value.encode()),
    "reversed": lambda value: value[::-1],
    "reversed_spaced": lambda value: " ".join(value[::-1]),
    "spaced": lambda value: " ".join(value),
    "dashed": lambda value: "-".join(value).upper(),
    "dotted": lambda value: " . ".join(value),
    "underscored": lambda value: "_".join(value),
    "in_fours": lambda value: " | ".join(value[at : at + 4] for at in range(0, len(value), 4)),
    "full_width": lambda value: "".join(chr(ord(each) + 0xFEE0) if "!" <= each <= "~" else each for each in value),
    "zero_width": lambda value: "\u200b".join(value),
    "joiners": lambda value: "\u2060".join(value) + "\ufeff",
    "soft_hyphens": lambda value: "\u00ad".join(value),
}


def without(text, *values):
    memory = TypedSecrets()
    for value in values:
        memory.add("s", value)
    return memory.mask("s", text)


@pytest.mark.parametrize("value", [PASSWORD, ODD, CARD], ids=["password", "odd", "card"])
@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
def test_a_secret_in_disguise_goes(disguise, value):
    left = without(f"You typed: {disguise(value)} - right?", value)
    assert MASK in left
    assert len(left) <= len("You typed: https://x/?auth= - right?") + len(MASK) + 18  # what base64 has around it
    assert without(left, value) == left


@pytest.mark.parametrize("key", ["testId", "name", "text", "title", "url", "screen", "selector", "message"])
def test_it_goes_from_every_part_of_a_page(key):
    assert MASK in without({key: f"row-{PASSWORD.encode().hex()}"}, PASSWORD)[key]
    assert MASK in without({key: f"row.{'.'.join(PASSWORD)}"}, PASSWORD)[key]


@pytest.mark.parametrize("name", ["base64", "base64_1", "hex", "spaced", "full_width", "zero_width", "reversed"])
def test_a_short_word_goes_where_its_disguise_cannot_be_chance(name):
    assert MASK in without(f"Is {DISGUISES[name]('hunter')} yours?", "hunter")


def test_a_long_secret_that_was_cut_goes_too():
    key = "0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"
    assert without(f"Key {b64encode(key.encode()).decode()[:40]}...", key) == f"Key {MASK}..."
    assert without(f"Key {key[::-1][:30]}", key) == f"Key {MASK}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Summer2024", "Summer 2024"),
        ("drawer", "Claim your rewards"),
        ("hunter", "Hunt eric"),
        ("1234", "1 2 3 4 5"),
        ("123456", "Pages 1 2 3 4 5 6 7"),
        ("123456", "Order 654321"),
        ("7", "37"),
        ("abc", "YWJj 616263 a b c"),
        ("hello", "o-l-l-e-h"),
        ("letmein", "Let me in"),
        ("sunshine", "Café, ½ price, ﬁne sunlight"),
        ("4111111111111111", "94111111111111111"),
    ],
)
def test_what_may_be_there_by_chance_stays(value, text):
    assert without(text, value) == text


def test_a_recorded_session_has_no_disguised_secret(flows):
    session = flows.start_session(app="shop").id
    field = {"ref": "e1", "role": "textbox", "name": "Password", "inputType": "password"}
    flows.record(
        session, tool="ui_type", target={"a11yRef": "e1"}, input={"text": PASSWORD}, before=Observation(a11y=[field])
    )
    shown = [{"ref": f"e{at}", "role": "button", "name": hide(PASSWORD)} for at, hide in enumerate(DISGUISES.values())]
    test_ids = [{"testId": PASSWORD.encode().hex("-"), "tag": "div", "text": PASSWORD[::-1], "visible": True}]
    page = Observation(url=f"https://x/{DISGUISES['base64_url'](PASSWORD)}", a11y=shown, test_ids=test_ids)
    flows.record(
        session,
        tool="ui_click",
        target={"testId": "x"},
        before=page,
        ok=False,
        error={"code": "LOST", "message": f"Not found: {DISGUISES['full_width'](PASSWORD)}"},
        prior_knowledge={"seen": [DISGUISES["zero_width"](PASSWORD), DISGUISES["spaced"](PASSWORD)]},
    )
    kept = flows.steps(session)[-1]
    assert all(node["name"].startswith((MASK, "https://x/?auth=")) or MASK in node["name"] for node in kept.before.a11y)
    assert kept.before.test_ids[0]["testId"] == kept.before.test_ids[0]["text"].strip("!") == MASK
    assert MASK in kept.before.url
    assert kept.error["message"] == f"Not found: {MASK}"
    assert kept.prior_knowledge == {"seen": [MASK, f"{MASK} !"]}


@pytest.mark.parametrize(
    "part", ["a", "hunter2-Blu", "h u n t ", "aHVudGVy", "68-75-", "\u200bh", "\uff48", "!eulB-2retnu"]
)
def test_a_hostile_page_takes_time_by_its_length(part):
    memory = TypedSecrets()
    memory.add("s", PASSWORD)
    text = part * (200_000 // len(part)) + DISGUISES["spaced"](PASSWORD)
    begun = time.process_time()
    memory.mask("s", text)
    assert time.process_time() - begun < 2
