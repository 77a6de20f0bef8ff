"""Logging in to remote servers: once in a browser, then kept, renewed, and asked for again when that is over."""

import json
import stat
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

import pytest
from chaos.harness import Scene, key, scene
from chaos.web import serving
from oauth_server import Tokens, protected
from tests.tools.patience import begun
from tests.waiting import PATIENCE, until

from athand.errors import InvalidInput, Unavailable
from athand.tools.model import Launch

SAFE = key("safe")


def browse(url: str) -> None:
    """What a browser does: it follows the addresses it is given."""
    with urllib.request.urlopen(url, timeout=PATIENCE) as page:
        page.read()


@pytest.fixture(autouse=True)
def no_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits to learn with which code a server elsewhere has ended: it has none."""
    monkeypatch.setattr("athand.tools.gateway.session._EXIT_WAIT", 0.0)


@pytest.fixture
def tokens() -> Tokens:
    return Tokens()


@pytest.fixture
def address(tokens: Tokens) -> Iterator[str]:
    app, listener = protected(tokens)
    with serving(app, listener) as address:
        yield f"{address}/mcp"


@pytest.fixture
def ours(address: str, tmp_path: Path) -> Iterator[Scene]:
    with scene(tokens=tmp_path / "logins") as made:
        made.add(Launch("safe", "http", url=address))
        yield made


def again(ours: Scene, tmp_path: Path) -> Scene:
    """The same servers for a gateway of another process."""
    other = Scene(tokens=tmp_path / "logins")
    other.launches = ours.launches
    return other


def the_file(tmp_path: Path) -> Path:
    (found,) = (tmp_path / "logins").iterdir()
    return found


def test_a_server_that_wants_a_login_says_how(ours: Scene) -> None:
    ours.gateway.connect(SAFE)
    assert ours.gateway.wait(PATIENCE)
    state = ours.gateway.states()[SAFE]
    assert state.state == "needs login"
    assert "athand tools login safe" in str(state.reason)
    with pytest.raises(Unavailable, match="athand tools login safe"):
        ours.text(SAFE, "add", a=1, b=2)


def test_after_a_login_calls_work_here_and_in_other_processes(ours: Scene, tmp_path: Path) -> None:
    ours.gateway.login(SAFE, open_page=browse)
    assert ours.text(SAFE, "add", a=1, b=2) == "3"
    assert ours.gateway.states()[SAFE].state == "connected"
    other = again(ours, tmp_path)
    try:
        assert other.text(SAFE, "add", a=3, b=4) == "7"
    finally:
        other.gateway.close()


def test_who_waits_after_a_login_has_the_tools(ours: Scene) -> None:
    ours.gateway.connect(SAFE)
    assert ours.gateway.wait(PATIENCE)
    ours.gateway.login(SAFE, open_page=browse)
    assert ours.gateway.wait(PATIENCE)
    assert ours.gateway.states()[SAFE].state == "connected"
    assert "add" in ours.names(SAFE)


def test_a_login_can_be_read_by_its_owner_only(ours: Scene, tmp_path: Path) -> None:
    ours.gateway.login(SAFE, open_page=browse)
    found = the_file(tmp_path)
    assert stat.S_IMODE(found.stat().st_mode) == 0o600
    assert stat.S_IMODE(found.parent.stat().st_mode) == 0o700
    assert "safe" not in found.name


def test_tokens_that_have_expired_meanwhile_are_renewed(ours: Scene, tokens: Tokens, tmp_path: Path) -> None:
    ours.gateway.login(SAFE, open_page=browse)
    ours.gateway.close()
    tokens.access.clear()
    kept = json.loads(the_file(tmp_path).read_text())
    the_file(tmp_path).write_text(json.dumps({**kept, "expires_at": 1.0}))
    other = again(ours, tmp_path)
    try:
        assert other.text(SAFE, "add", a=3, b=4) == "7"
    finally:
        other.gateway.close()
    assert tokens.refreshed == 1
    kept = json.loads(the_file(tmp_path).read_text())
    assert kept["tokens"]["access_token"] in tokens.access


def test_tokens_that_end_before_their_time_are_renewed(ours: Scene, tokens: Tokens) -> None:
    ours.gateway.login(SAFE, open_page=browse)
    assert ours.text(SAFE, "add", a=1, b=2) == "3"
    tokens.access.clear()
    assert ours.text(SAFE, "add", a=3, b=4) == "7"
    assert tokens.refreshed == 1


def test_tokens_that_another_process_has_renewed_are_used(ours: Scene, tokens: Tokens, tmp_path: Path) -> None:
    ours.gateway.login(SAFE, open_page=browse)
    assert ours.text(SAFE, "add", a=1, b=2) == "3"
    tokens.access.clear()
    other = again(ours, tmp_path)
    try:
        assert other.text(SAFE, "add", a=3, b=4) == "7"
    finally:
        other.gateway.close()
    assert ours.text(SAFE, "add", a=5, b=6) == "11"
    assert tokens.refreshed == 1


def test_a_login_that_was_taken_back_is_asked_for_again(ours: Scene, tokens: Tokens, tmp_path: Path) -> None:
    ours.gateway.login(SAFE, open_page=browse)
    tokens.access.clear()
    tokens.refresh.clear()
    other = again(ours, tmp_path)
    try:
        with pytest.raises(Unavailable, match="athand tools login safe"):
            other.text(SAFE, "add", a=1, b=2)
        assert other.gateway.states()[SAFE].state == "needs login"
        other.gateway.login(SAFE, open_page=browse)
        assert other.text(SAFE, "add", a=1, b=2) == "3"
    finally:
        other.gateway.close()


def test_a_running_server_whose_login_was_taken_back_says_so(ours: Scene, tokens: Tokens) -> None:
    ours.gateway.login(SAFE, open_page=browse)
    assert ours.text(SAFE, "add", a=1, b=2) == "3"
    tokens.access.clear()
    tokens.refresh.clear()
    with pytest.raises(Unavailable, match="athand tools login safe"):
        ours.text(SAFE, "add", a=1, b=2)
    until(lambda: ours.gateway.states()[SAFE].state == "needs login")  # once its session has ended, which follows


def test_an_answer_with_a_wrong_state_is_turned_away(ours: Scene) -> None:
    refused: list[int] = []

    def forge_first(url: str) -> None:
        back = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        for query in ("code=stolen&state=wrong", "code=stolen", "error=x&state="):
            with pytest.raises(urllib.error.HTTPError) as caught:
                browse(f"{back}?{query}")
            refused.append(caught.value.code)
            caught.value.close()
        threading.Thread(target=browse, args=(url,)).start()

    ours.gateway.login(SAFE, open_page=forge_first)
    assert refused == [400, 400, 400]
    assert ours.text(SAFE, "add", a=1, b=2) == "3"


def test_a_user_who_refuses_is_understood(ours: Scene, tokens: Tokens, tmp_path: Path) -> None:
    tokens.refuses = True
    with pytest.raises(Unavailable, match="refused: access_denied"):
        ours.gateway.login(SAFE, open_page=browse)
    assert not (tmp_path / "logins").exists()


def test_a_login_nobody_answers_ends(ours: Scene) -> None:
    shown = threading.Event()
    login = begun(lambda: ours.gateway.login(SAFE, open_page=lambda url: shown.set(), seconds=250.0))
    assert shown.wait(PATIENCE)
    ours.clock.advance(200)
    assert not login.done()
    ours.clock.advance(50)
    with pytest.raises(Unavailable, match=r"Nobody logged in to .* within 250 s"):
        login.result(PATIENCE)


def test_a_login_that_was_forged_into_a_link_is_not_followed(ours: Scene, tmp_path: Path) -> None:
    ours.gateway.login(SAFE, open_page=browse)
    found = the_file(tmp_path)
    secret = tmp_path / "elsewhere.json"
    found.rename(secret)
    found.symlink_to(secret)
    other = again(ours, tmp_path)
    try:
        with pytest.raises(Unavailable, match="athand tools login safe"):
            other.text(SAFE, "add", a=1, b=2)
    finally:
        other.gateway.close()


def test_a_header_of_the_configuration_is_used_instead_of_a_login(ours: Scene, tokens: Tokens) -> None:
    ours.gateway.login(SAFE, open_page=browse)
    (token,) = tokens.access
    plain = ours.launches[SAFE]
    mine = ours.add(Launch("mine", "http", url=plain.url, headers={"Authorization": f"Bearer {token}"}))
    assert ours.text(mine, "add", a=1, b=2) == "3"
    with pytest.raises(InvalidInput, match="Authorization header"):
        ours.gateway.login(mine, open_page=browse)
    wrong = ours.add(Launch("wrong", "http", url=plain.url, headers={"authorization": "Bearer wrong"}))
    with pytest.raises(Unavailable, match="refuses the Authorization header of the configuration"):
        ours.text(wrong, "add", a=1, b=2)
    assert ours.gateway.states()[wrong].state == "failing"


def test_a_server_that_is_started_here_has_no_login(ours: Scene) -> None:
    with pytest.raises(InvalidInput, match="nowhere to log in"):
        ours.gateway.login(ours.chaos("Server"), open_page=browse)


def test_no_secret_of_a_login_is_logged(ours: Scene, tokens: Tokens, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    ours.gateway.login(SAFE, open_page=browse)
    ours.text(SAFE, "add", a=1, b=2)
    for token in (*tokens.access, *tokens.refresh):
        assert token not in caplog.text


def test_an_address_with_a_password_never_shows_it(ours: Scene) -> None:
    parts = urlsplit(ours.launches[SAFE].url)
    secret = urlunsplit((parts.scheme, f"me:hush-hush@{parts.netloc}", parts.path, urlencode({"key": "hush-hush"}), ""))
    server = ours.add(Launch("secret", "http", url=secret))
    with pytest.raises(Unavailable) as caught:
        ours.text(server, "add", a=1, b=2)
    assert "hush-hush" not in str(caught.value)
    assert "hush-hush" not in str(ours.gateway.states()[server])
