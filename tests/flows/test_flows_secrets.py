import html
import json
from functools import partial
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from athand import redaction
from athand.errors import InvalidInput
from athand.flows.echo_masking import TypedSecrets
from athand.flows.model import Observation
from athand.flows.profiles import Profiles, load_profile
from athand.flows.secrets import MASK, clean_url, clean_value, is_secret
from athand.flows.validation import check_id, check_tool

ANY, WALLET = Profiles().get("default"), Profiles().get("metamask")
PHRASE = "abandon ability able about above absent absorb abstract absurd abuse acid zoo".split()
KEY = "0x" + "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"


def field(**facts):
    return {"ref": "e1", "role": "textbox", "name": "", **facts}


def seen(*nodes, test_ids=()):
    return Observation(url="https://x/", a11y=nodes, test_ids=test_ids)


def hides(target, *nodes, profile=ANY, given=None, test_ids=()):
    return is_secret(target, seen(*nodes, test_ids=test_ids), given or {}, profile)


def typed(*values):
    memory = TypedSecrets()
    for value in values:
        memory.add("s", value)
    return memory


def without(text, *values):
    return typed(*values).mask("s", text)


SECRET_NAMES = [
    *("password", "Password", "newPassword2", "user-password", "confirm_password", "passwordfield", "pwd", "user_pass"),
    *("PIN", "pin-code", "enter-pin", "OTP", "otp-input", "cvv", "CVV2", "card-cvc", "passcode", "Passphrase"),
    *("Seed phrase", "Secret Recovery Phrase", "mnemonic", "mnemonic-word-3", "Private key", "privateKey", "api_key"),
    *("Card number", "cardNumber", "Security code", "Verification code", "2FA code", "one-time-code", "access_token"),
    *("Passwort", "Kennwort", "Contraseña", "Mot de passe", "Senha", "Пароль", "请输入密码", "パスワード", "Hasło"),
    "Password Forgot password?",
]
ORDINARY_NAMES = [
    *("email", "username", "Amount", "recipient", "pinned-items", "spinner", "opinion", "shipping", "compass"),
    *("passenger-name", "Boarding pass", "discard-number", "token-amount", "zip code", "Search passwords", "keyword"),
    *("Forgot password?", "forgot-password-email", "show-password", "author-code", "secretary", "cart-number"),
]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_secret_field_is_known_by_any_of_its_names(name):
    assert hides({"testId": name})
    assert hides({"selector": f'[name="{name}"]'})
    assert hides({"role": "textbox", "name": name})
    assert hides({"a11yRef": "e1"}, field(name=name))
    assert hides({"a11yRef": "e1"}, field(htmlName=name))
    assert hides({"a11yRef": "e1"}, field(testId=name))
    assert is_secret({"testId": name}, None, {}, ANY)


@pytest.mark.parametrize("name", ORDINARY_NAMES)
def test_other_fields_are_not_secret(name):
    assert not hides({"testId": name}, field(name="Email"))
    assert not hides({"role": "textbox", "name": name}, field(name=name))
    assert not hides({"a11yRef": "e1"}, field(name=name, htmlName=name))


@pytest.mark.parametrize(
    "facts",
    [
        {"inputType": "password"},
        {"inputType": "PASSWORD", "name": "Search"},
        {"protected": True},
        {"autocomplete": "current-password"},
        {"autocomplete": "section-a new-password"},
        {"autocomplete": "one-time-code", "inputType": "tel"},
        {"autocomplete": "cc-number"},
        {"autocomplete": "billing cc-csc"},
    ],
)
def test_the_kind_of_a_field_tells_too(facts):
    node = field(testId="x7", **facts)
    assert hides({"a11yRef": "e1"}, node)
    assert hides({"testId": "x7"}, node)
    assert hides({"role": "textbox", "name": node["name"]}, node)
    assert hides({"selector": "#x7", "role": "textbox", "name": node["name"]}, node)
    assert not hides({"a11yRef": "e2"}, node, field(ref="e2", name="Email"))


@pytest.mark.parametrize(
    "facts",
    [
        {"role": "link", "name": "Forgot your password"},
        {"role": "button", "name": "Password"},
        {"role": "searchbox", "name": "Password"},
        {"inputType": "search", "name": "Passwords"},
        {"inputType": "email", "testId": "reset-password-email"},
        {"role": "checkbox", "name": "Password"},
        {"autocomplete": "username"},
    ],
)
def test_links_buttons_and_search_boxes_are_not_secret(facts):
    assert not hides({"a11yRef": "e1"}, field(**facts))


def test_the_caller_may_say_that_it_is_secret():
    assert hides({"testId": "note"}, given={"secret": True})
    assert not hides({"testId": "note"}, given={"secret": False})


def test_without_a_target_the_field_with_the_focus_counts():
    assert hides({}, field(name="PIN", focused=True), field(ref="e2", name="Email"))
    assert not hides({}, field(name="PIN"), field(ref="e2", name="Email", focused=True))


def test_a_field_that_nobody_can_tell_is_secret_where_all_fields_are():
    assert hides({"selector": "#x"}, field(inputType="password"), field(role="button", name="Unlock"))
    assert not hides({"selector": "#x"}, field(inputType="password"), field(ref="e2", name="Email"))
    assert not hides({"selector": "#x"}, field(role="button", name="Unlock"))


def test_a_profile_names_more_secret_fields(tmp_path):
    assert hides({"testId": "import-srp__srp-word-0"}, profile=WALLET)
    assert not hides({"testId": "import-srp__srp-word-0"})
    file = tmp_path / "shop.toml"
    file.write_text('secret_fields = ["gift-card"]')
    assert hides({"a11yRef": "e1"}, field(name="Your gift card"), profile=load_profile(file))
    assert not hides({"a11yRef": "e1"}, field(name="Gift cards"), profile=load_profile(file))


@pytest.mark.parametrize(
    "echo",
    [
        lambda value: value,
        str.upper,
        str.lower,
        lambda value: f"Is {value} right?",
        lambda value: f"x{value}x",
        lambda value: f"https://x/?q={quote(value)}&b=1",
        lambda value: f"https://x/#/a?q={quote_plus(value)}",
        lambda value: f"https://x/{quote(value, safe='').lower()}",
        lambda value: json.dumps({"a": value}),
        lambda value: json.dumps({"a": value}, ensure_ascii=False),
        lambda value: f"<p>{html.escape(value)}</p>",
        lambda value: f"<p>{html.escape(value, quote=False)}</p>",
        lambda value: html.escape(value).replace("&#x27;", "&#39;"),
        lambda value: value.replace(" ", "\n "),
    ],
)
@pytest.mark.parametrize("value", ["hunter2", 'pässwörd & "Söhne"', "a'b<c>/d e", "  correct horse battery  ", KEY])
def test_an_echo_is_removed_however_it_is_written(value, echo):
    left = without(echo(value), value)
    assert MASK in left
    assert without(left, value) == left
    for word in value.split():
        assert len(word) < 4 or word.casefold() not in left.casefold()


def test_echoes_are_removed_at_any_depth_and_only_in_their_session():
    memory = typed("hunter2")
    record = {"a": ["hunter2", {"b": ("x hunter2", 7, None, True)}], "hunter": "hunter"}
    assert memory.mask("s", record) == {"a": [MASK, {"b": (f"x {MASK}", 7, None, True)}], "hunter": "hunter"}
    assert memory.mask("other", record) is record


def test_short_values_go_where_they_stand_alone():
    assert without("7", "7") == MASK
    assert without(" 7 ", "7") == MASK
    assert without({"value": "abc", "name": "abcd", "text": "see abc"}, "abc") == {
        "value": MASK,
        "name": "abcd",
        "text": "see abc",
    }
    assert without("https://x/?pin=123&page=1234", "123") == f"https://x/?pin={MASK}&page=1234"
    assert without('{"pin": "123"}', "123") == f'{{"pin": "{MASK}"}}'
    assert without("Step 1 of 3", "1", "3") == "Step 1 of 3"


def test_words_and_numbers_go_as_wholes():
    assert without("PIN 1234, order 12345", "1234") == f"PIN {MASK}, order 12345"
    assert without("your hunter is weak, hunters", "hunter") == f"your {MASK} is weak, hunters"
    assert without({"name": "Password", "testId": "password", "selector": "#password"}, "password") == {
        "name": "Password",
        "testId": "password",
        "selector": "#password",
    }
    assert without("https://x/hunter/1234?a=hunter", "hunter", "1234") == f"https://x/hunter/1234?a={MASK}"


def test_a_card_number_goes_however_it_is_grouped():
    for shown in ("4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1111"):
        assert without(f"Card {shown}.", "4111 1111 1111 1111") == without(f"Card {shown}.", shown) == f"Card {MASK}."
    assert without("94111111111111111", "4111111111111111") == "94111111111111111"


def test_a_phrase_typed_word_by_word_goes_where_its_words_are_values():
    memory = typed(*PHRASE)
    chips = [{"role": "textbox", "name": f"Word {at}", "value": word} for at, word in enumerate(PHRASE, 1)]
    assert all(chip["value"] == MASK for chip in memory.mask("s", chips))
    assert memory.mask("s", "3. able") == MASK
    assert memory.mask("s", "1. abandon 2. ability 3. able") == f"1. {MASK}"
    assert memory.mask("s", " ".join(PHRASE)) == MASK
    assert memory.mask("s", "What is this about?") == "What is this about?"
    assert memory.mask("s", {"role": "able", "testId": "zoo"}) == {"role": "able", "testId": "zoo"}


def test_a_phrase_typed_at_once_goes_as_a_whole_and_in_its_words():
    memory = typed(" ".join(PHRASE))
    assert memory.mask("s", f"Phrase: {' '.join(PHRASE)}!") == f"Phrase: {MASK}!"
    assert memory.mask("s", PHRASE) == [MASK] * len(PHRASE)
    assert memory.mask("s", "  ".join(PHRASE[:4])) == MASK


@pytest.mark.parametrize("length", [25, 30, 40, 65])
def test_a_long_value_that_was_cut_goes_too(length):
    assert without(f"Key {KEY[:length]}", KEY) == f"Key {MASK}"


def test_what_is_no_value_is_not_remembered():
    assert typed("", "  \n", MASK).mask("s", ["", " ", MASK, "typed"]) == ["", " ", MASK, "typed"]


def test_a_mask_is_never_masked_again():
    assert without(f"{MASK} typed", "typed") == f"{MASK} {MASK}"
    assert without("[redacted: password] x", "redacted: password") == "[redacted: password] x"


@given(
    st.text(min_size=4, max_size=60),
    st.text("ab <>&é", max_size=5),
    st.sampled_from([str, quote, quote_plus, json.dumps, html.escape, str.upper]),
)
@example("stra\u00dfe \u017f!", "", str.upper)
@example("İstanbul1", "", str)
def test_no_certain_value_survives(value, around, write):
    value = " ".join(value.split())
    assume(len(value) > 3 and not value.isalnum() and not value.replace(" ", "").replace("-", "").isdecimal())
    assume(value.casefold() not in MASK)
    left = without(around + write(value) + around, value)
    assert MASK in left
    assert len(left.replace(MASK, "")) <= 2 * len(around) + 2


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://u:p@shop.test/a?q=1#top", "https://shop.test/a?q=1#top"),
        ("https://user@shop.test/", "https://shop.test/"),
        ("https://shop.test/?password=x&a=1", "https://shop.test/?password=[redacted: secret]&a=1"),
        ("https://shop.test/?client_secret=x", "https://shop.test/?client_secret=[redacted: secret]"),
        ("/cb#access_token=Zz9Zz9Zz9&b=1", "/cb#access_token=[redacted: secret]&b=1"),
        ("https://x/#/cb?code=SplxlOBeZQQYbYS6&page=2", "https://x/#/cb?code=[redacted: secret]&page=2"),
        ("https://x/?X-Amz-Signature=abc", "https://x/?X-Amz-Signature=[redacted: secret]"),
        ("https://x/?next=https%3A%2F%2Fx%2F%3Fpassword%3Da", "https://x/?next=[redacted: secret]"),
        ("https://x/?next=https%3A%2F%2Fu%3Ap%40x%2F", "https://x/?next=[redacted: secret]"),
        ("https://x/?token=ETH&key=title&code=DE", "https://x/?token=ETH&key=title&code=DE"),
        (f"https://x/?token=0x{'ab' * 20}", f"https://x/?token=0x{'ab' * 20}"),
        ("https://x/?next=%2Forders%3Fpage%3D2", "https://x/?next=%2Forders%3Fpage%3D2"),
        ("about:blank", "about:blank"),
        ("", ""),
    ],
)
def test_an_address_is_kept_without_its_secrets(url, clean):
    assert clean_url(url) == clean == clean_url(clean)
    assert clean_value({"url": url}) == {"url": clean}
    assert clean_value(f"Go to {url} now") == f"Go to {clean} now" or "://" not in url


def test_what_is_kept_has_no_secrets_at_any_depth():
    token = "ghp_" + "aB3dE5fG7h" * 4
    node = {"ref": "e1", "role": "link", "name": f"Token {token}", "disabled": False, "level": 2}
    assert clean_value(({"nodes": [node]},)) == ({"nodes": [{**node, "name": "Token [redacted: GitHub token]"}]},)
    assert clean_value("Mine <private>is mine</private> yours") == "Mine yours"
    assert clean_value({"error": "password=Tr0ub4dor&3"}) == {"error": "password=[redacted: password]"}


def test_the_value_of_a_secret_field_is_not_kept():
    nodes = [
        field(inputType="password", value="autofilled"),
        field(name="Email", value="alice@shop.test"),
        field(name="Gift card", value="XY"),
        field(name="PIN", value=""),
    ]
    assert [node["value"] for node in clean_value(nodes)] == [MASK, "alice@shop.test", "XY", ""]
    assert clean_value(nodes, secret_fields=["gift-card"])[2]["value"] == MASK


PARTS = [
    *("Send", "order 12", "Password", "password", "is", "pwd", ":", "=", " ", " ", "-", "--", ".", ">", '"', "'", "\n"),
    *("login", "alice", "hunter2", "hunter", "mysql", "-p", "curl", "-u", "Bearer", "authorization", "token", "secret"),
    *("ghp_", "sk-", "xoxb-", "AKIA", "eyJ", "aB3dE5fG7h", "ABCDEFGH", "1234567890", "phrase", "apple ", "<private>"),
    *("</private>", "@", "é", "_", "key", "API_KEY", "abcdefghijklmnop", "[redacted: x]"),
]


@example("xoxb-Sendhunter2")
@given(st.lists(st.sampled_from(PARTS), max_size=14).map("".join))
def test_nothing_is_skipped_that_redaction_would_find(text):
    assert clean_value(text) == redaction.clean(text)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("part", ["a", "1", "%25", "?a=", "a@", "://", "&token", "-", "x1 ", "<private"])
def test_hostile_texts_do_not_hang(part):
    long = part * (100_000 // len(part))
    clean_url(f"https://x/?a={long}")
    clean_url(long)
    is_secret({"selector": long}, None, {}, ANY)
    assert long not in without(["see", f"x {long} y"], long, "hunter2")[1]


def test_a_secret_is_no_key_and_no_name():
    token = "ghp" + "_" + "A1b2C3d4" * 5
    assert clean_value({token: 1, "note": {token: "x"}}) == {
        "[redacted: GitHub token]": 1,
        "note": {"[redacted: GitHub token]": "x"},
    }
    for check in (partial(check_id, "session_id"), partial(check_id, "app"), check_tool):
        with pytest.raises(InvalidInput, match="looks like a secret") as error:
            check(token)
        assert token not in str(error.value)
