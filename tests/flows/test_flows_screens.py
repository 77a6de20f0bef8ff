from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from athand.flows.profiles import Profiles, load_profile
from athand.flows.screens import detect_screen, route_of, route_tokens

WALLET, ANY = Profiles().get("metamask"), Profiles().get("default")
EXTENSION = "chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn"


def heading(name, **more):
    return {"ref": "e1", "role": "heading", "name": name, **more}


def dialog(name, **more):
    return {"ref": "e2", "role": "dialog", "name": name, **more}


def shown(url, *nodes):
    return detect_screen(url, (), nodes, ANY)


@pytest.mark.parametrize(
    ("url", "screen"),
    [
        ("#/send/", "send"),
        ("/send/", "send"),
        ("https://wallet.test/send", "send"),
        ("https://wallet.test/send/", "send"),
        ("https://wallet.test/send/x?asset=eth", "send"),
        ("https://wallet.test/#/send/1", "send"),
        ("https://wallet.test/#!/send", "send"),
        ("https://wallet.test/app/#/send", "send"),
        (f"{EXTENSION}/home.html#/send", "send"),
        (f"{EXTENSION}/home.html#/send?token=1", "send"),
        (f"{EXTENSION}/home.html#/Send//x", "send"),
        (f"{EXTENSION}/home.html#/sendfoo", "unknown"),
        ("https://wallet.test/sendfoo", "unknown"),
        ("https://wallet.test/x/send", "unknown"),
        (f"{EXTENSION}/home.html#/swap", "swap"),
        (f"{EXTENSION}/home.html#/swaps/prepare-swap-page", "swap"),
        (f"{EXTENSION}/home.html#/bridge/x", "bridge"),
        (f"{EXTENSION}/popup.html#/unlock", "unlock"),
        (f"{EXTENSION}/home.html#/settings/security", "settings"),
        (f"{EXTENSION}/home.html#/", "home"),
        (f"{EXTENSION}/home.html#/confirm-transaction/12", "confirm-transaction"),
        (f"{EXTENSION}/notification.html#/confirm-transaction/12/token-method", "confirm-transaction"),
        (f"{EXTENSION}/notification.html#/confirm-transaction/12/signature-request", "confirm-signature"),
        (f"{EXTENSION}/notification.html#/confirm-signature", "confirm-signature"),
        (f"{EXTENSION}/notification.html#/connect/7", "notification"),
        (f"{EXTENSION}/notification.html#/", "notification"),
        (f"{EXTENSION}/home.html#/onboarding/welcome", "onboarding-welcome"),
        (f"{EXTENSION}/home.html#/onboarding/import-with-recovery-phrase", "onboarding-import"),
        (f"{EXTENSION}/home.html#/onboarding/create-password", "onboarding-create-password"),
        (f"{EXTENSION}/home.html", "unknown"),
        ("about:blank", "unknown"),
        ("", "unknown"),
        ("https://[broken", "unknown"),
    ],
)
def test_rules_match_whole_segments_of_all_kinds_of_addresses(url, screen):
    assert detect_screen(url, (), (), WALLET) == screen


def test_the_address_tells_more_than_the_test_ids():
    assert detect_screen(f"{EXTENSION}/home.html#/send", ["unlock-page"], (), WALLET) == "send"


@pytest.mark.parametrize(
    ("test_ids", "screen"),
    [
        (["app-header-logo", "unlock-password"], "unlock"),
        (["import-srp__srp-word-0"], "onboarding-import"),
        (["coin-overview-send", "account-menu-icon"], "home"),
        (["confirm-footer-button"], "confirm-transaction"),
        (["nothing-known"], "unknown"),
        ([], "unknown"),
    ],
)
def test_test_ids_tell_where_the_address_does_not(test_ids, screen):
    assert detect_screen(f"{EXTENSION}/home.html", test_ids, (), WALLET) == screen


def test_a_closed_list_of_screens_stays_closed():
    assert detect_screen("https://wallet.test/elsewhere", (), [heading("Elsewhere")], WALLET) == "unknown"


def test_the_longest_rule_wins_wherever_it_stands(tmp_path):
    file = tmp_path / "shop.toml"
    file.write_text(
        """url_rules = [
            { pattern = "/", screen = "home" }, { pattern = "/orders", screen = "orders" },
            { pattern = "/orders/*/edit", screen = "edit" }, { pattern = "/my%20cart", screen = "cart" },
        ]"""
    )
    shop = load_profile(file)
    assert detect_screen("https://shop.test/orders/7", (), (), shop) == "orders"
    assert detect_screen("https://shop.test/orders/7/edit/x", (), (), shop) == "edit"
    assert detect_screen("https://shop.test/#/orders/7/edit", (), (), shop) == "edit"
    assert detect_screen("https://shop.test", (), (), shop) == "home"
    assert detect_screen("https://shop.test/#/help", (), (), shop) == "/help"
    assert detect_screen("https://shop.test/my%20cart", (), (), shop) == "cart"


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://shop.test", "/"),
        ("https://shop.test/orders/", "/orders"),
        ("https://shop.test/orders/123", "/orders/:id"),
        ("https://shop.test/Orders/123/Edit?x=1#top", "/orders/:id/edit"),
        ("https://shop.test/o/550e8400-e29b-41d4-a716-446655440000", "/o/:id"),
        ("https://shop.test/c/9f86d081884c7d65", "/c/:id"),
        ("https://shop.test/c/0x6b175474e89094c44da98b954eedeac495271d0f", "/c/:id"),
        ("https://shop.test/v/dQw4w9WgXcQ", "/v/:id"),
        ("https://shop.test/f/V1StGXR8_Z5jdHi6B-myT", "/f/:id"),
        ("https://shop.test/day/2026-11-16", "/day/:id"),
        ("https://shop.test/u/alice%40shop.test", "/u/:id"),
        ("https://shop.test/u/Alice%20Smith", "/u/:id"),
        ("https://shop.test/invoice-20931.pdf", "/invoice-:id.pdf"),
        ("https://shop.test/api/v2/oauth2callback", "/api/v2/oauth2callback"),
        ("https://shop.test/import-with-recovery-phrase", "/import-with-recovery-phrase"),
        ("https://shop.test/app/index.html#/users/7", "/app/users/:id"),
        (f"{EXTENSION}/home.html#/send/1", "/send/:id"),
        ("file:///home/somebody/tasks/click-test-2.html", "/tasks/click-test-2.html"),
        ("file:///home/somebody/index.html#/list", "/list"),
        ("about:blank", "about:blank"),
        ("chrome-error://chromewebdata/", "chrome-error:chromewebdata"),
        ("data:text/html,<h1>Hello</h1>", ""),
        ("", ""),
    ],
)
def test_a_path_holds_the_route_and_no_data(url, path):
    assert route_of(url) == path


def test_the_tokens_of_a_path_are_what_names_a_place():
    assert route_tokens("https://shop.test/app/index.html#/orders/7/edit") == {"app", "orders", "edit"}
    assert route_tokens("file:///x/tasks/click-test.html") == {"tasks", "click-test"}
    assert route_tokens("https://shop.test/") == route_tokens("about:blank") == route_tokens("") == frozenset()


@pytest.mark.parametrize(
    ("url", "nodes", "screen"),
    [
        ("https://shop.test/orders/1", [heading("Order #1")], "/orders/:id"),
        ("https://shop.test/orders/1", [heading("Checkout")], "/orders/:id · checkout"),
        ("https://shop.test/products/9", [heading("Red running shoes")], "/products/:id"),
        ("https://shop.test/account", [heading("Payment methods")], "/account · payment methods"),
        ("https://shop.test/orders", [heading("Your orders")], "/orders"),
        ("https://shop.test/", [heading("Sign in to Acme")], "/ · sign in to acme"),
        ("https://shop.test/step", [heading("Step 2: Payment")], "/step · payment"),
        ("https://shop.test/x", [heading("404 Not Found")], "/x · not found"),
        ("https://shop.test/a", [heading("Menu", level=2), heading("Prices", level=1)], "/a · prices"),
        ("https://shop.test/a", [heading("A product", level=3)], "/a"),
        ("https://shop.test/a", [heading("Hats", path=["main", "list", "listitem"])], "/a"),
        ("https://shop.test/a", [{"ref": "e1", "role": "form", "name": "Sign in"}], "/a · sign in"),
        ("https://shop.test/a", [{"ref": "e1", "role": "button", "name": "Sign in"}], "/a"),
        ("https://shop.test/orders/1", [heading("Order"), dialog("Delete order?")], "/orders/:id · delete order"),
        ("https://shop.test/orders/1", [dialog(""), heading("Refund", path=["dialog"])], "/orders/:id · refund"),
        ("https://shop.test/orders/1", [dialog("")], "/orders/:id · dialog"),
        ("https://shop.test/a", [dialog("We use cookies"), heading("Prices")], "/a · prices"),
        ("about:blank", [], "about:blank"),
        ("about:blank", [heading("To do")], "about:blank · to do"),
        ("https://shop.test/", [heading("About us")], "/ · about us"),
        ("data:text/html,<h1>x</h1>", [heading("Payment details")], "payment details"),
        ("data:text/html,x", [{"ref": "e1", "role": "RootWebArea", "name": "Calculator"}], "calculator"),
        ("", [heading("Payment details")], "payment details"),
        ("data:text/html,x", [], "unknown"),
        ("", [{"ref": "e1", "role": "button", "name": "OK"}], "unknown"),
    ],
)
def test_unknown_apps_get_a_readable_name_for_each_screen(url, nodes, screen):
    assert shown(url, *nodes) == screen


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3 items in your cart", "1 item in your cart"),
        ("Inbox (3)", "Inbox (1,204)"),
        ("Order #1234", "Order #98"),
        ("Total: $12.50", "Total: $9"),
        ('Results for "hats"', 'Results for "blue hats"'),
        ("Results for hats", "Results for shoes"),
        ("24 results", "1 result"),
        ("Welcome back, Alice!", "Good evening, Bob"),
        ("Alice's files", "Bob\u2019s files"),
        ("Signed in as alice@shop.test", "Signed in as bob@shop.test"),
        ("16 November 2026", "1 May 2027"),
        ("Monday, December 7", "Friday, March 12"),
        ("Project: Apollo", "Project: Gemini"),
    ],
)
def test_a_screen_stays_the_same_when_its_data_changes(one, other):
    assert shown("https://shop.test/a", heading(one)) == shown("https://shop.test/a", heading(other))


def test_what_was_searched_for_is_data():
    results = {shown(f"https://shop.test/search?q={quote(text)}", heading(text)) for text in ("Hats", "Blue shoes")}
    assert results == {"/search"}


def test_two_steps_of_one_address_are_two_screens():
    assert shown("https://shop.test/", heading("Shipping")) != shown("https://shop.test/", heading("Payment"))


@given(
    st.text(max_size=60), st.lists(st.fixed_dictionaries({"role": st.just("heading"), "name": st.text()}), max_size=2)
)
def test_any_address_and_any_heading_give_a_short_name(url, nodes):
    for address in (url, f"https://x/{url}", f"https://x/#/{url}"):
        name = detect_screen(address, (), nodes, ANY)
        assert 0 < len(name) <= 80
        assert name == detect_screen(address, (), nodes, ANY)
        assert name.isprintable() or any(not character.isprintable() for character in url)


@given(st.integers(min_value=0), st.uuids(), st.sampled_from(["edit", "items", "history"]))
def test_ids_never_make_another_screen(number, uuid, part):
    assert (
        shown(f"https://x/orders/{number}/{part}") == shown(f"https://x/orders/{uuid}/{part}") == f"/orders/:id/{part}"
    )


@pytest.mark.timeout(120)
@pytest.mark.parametrize("part", ["a", "1", "/a", "%25", "a@", "-", "a1", "? ", "://"])
def test_hostile_addresses_and_headings_do_not_hang(part):
    long = part * (300_000 // len(part))
    for address in (long, f"https://x/{long}", f"https://x/#/{long}", f"https://x/?q={long}"):
        assert len(shown(address, heading(long))) <= 80
