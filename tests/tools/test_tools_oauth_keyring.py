"""Logins in the keyring of the operating system: kept there, moved there, and done without it where it fails."""

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import keyring
import pytest
from chaos.harness import Scene, scene
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked
from oauth_server import Tokens
from test_tools_oauth import SAFE, address, again, browse, the_file, tokens  # noqa: F401

from athand.tools.model import Launch
from athand.tools.oauth import keyring as own

HINT = {"kept_in": "keyring"}


class SystemKeyring(KeyringBackend):
    """What a desktop has, in memory: it can be locked, and it can wait for its user."""

    priority = 5

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.asked = 0
        self.is_locked, self.unlocked = False, Event()
        self.unlocked.set()

    def get_password(self, service: str, username: str) -> str | None:
        self.asked += 1
        self._open()
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._open()
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._open()
        del self.kept[service, username]

    def _open(self) -> None:
        self.unlocked.wait()
        if self.is_locked:
            raise KeyringLocked("it is locked")


@pytest.fixture
def system() -> Iterator[SystemKeyring]:
    before = keyring.get_keyring()
    made = SystemKeyring()
    keyring.set_keyring(made)
    yield made
    made.unlocked.set()
    keyring.set_keyring(before)


@pytest.fixture
def ours(address: str, tmp_path: Path) -> Iterator[Scene]:  # noqa: F811
    with scene(tokens=tmp_path / "logins") as made:
        made.add(Launch("safe", "http", url=address))
        yield made


def works_elsewhere(ours: Scene, tmp_path: Path) -> bool:
    other = again(ours, tmp_path)
    try:
        return other.text(SAFE, "add", a=3, b=4) == "7"
    finally:
        other.gateway.close()


def without(system: SystemKeyring) -> None:
    """As it is on a machine without a keyring."""
    keyring.set_keyring(keyring.backends.fail.Keyring())


def test_a_login_is_kept_in_the_keyring_and_no_file_has_it(ours: Scene, system: SystemKeyring, tmp_path: Path) -> None:
    ours.gateway.login(SAFE, open_page=browse)
    assert ours.text(SAFE, "add", a=1, b=2) == "3"
    assert json.loads(the_file(tmp_path).read_text()) == HINT
    ((place, kept),) = system.kept.items()
    assert place == ("athand", str(the_file(tmp_path))) and json.loads(kept)["tokens"]["access_token"]
    assert works_elsewhere(ours, tmp_path)


def test_a_login_in_a_file_moves_when_it_is_used(ours: Scene, system: SystemKeyring, tmp_path: Path) -> None:
    without(system)
    ours.gateway.login(SAFE, open_page=browse)
    before = json.loads(the_file(tmp_path).read_text())
    assert "tokens" in before and not system.kept
    keyring.set_keyring(system)
    assert works_elsewhere(ours, tmp_path)
    assert json.loads(the_file(tmp_path).read_text()) == HINT
    assert json.loads(system.kept["athand", str(the_file(tmp_path))]) == before


def test_tokens_that_are_renewed_stay_in_the_keyring(
    ours: Scene,
    system: SystemKeyring,
    tokens: Tokens,  # noqa: F811
    tmp_path: Path,
) -> None:
    ours.gateway.login(SAFE, open_page=browse)
    ours.gateway.close()
    tokens.access.clear()
    place = ("athand", str(the_file(tmp_path)))
    system.kept[place] = json.dumps({**json.loads(system.kept[place]), "expires_at": 1.0})
    assert works_elsewhere(ours, tmp_path)
    assert tokens.refreshed == 1 and json.loads(the_file(tmp_path).read_text()) == HINT
    assert json.loads(system.kept[place])["tokens"]["access_token"] in tokens.access


@pytest.mark.parametrize("how", ["locked", "silent"])
def test_where_the_keyring_fails_a_new_login_is_kept_in_a_file(
    ours: Scene,
    system: SystemKeyring,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    how: str,
) -> None:
    monkeypatch.setattr(own, "_SECONDS", 0.1)
    system.is_locked = how == "locked"
    if how == "silent":
        system.unlocked.clear()
    ours.gateway.login(SAFE, open_page=browse)
    assert ours.text(SAFE, "add", a=1, b=2) == "3"
    assert "tokens" in json.loads(the_file(tmp_path).read_text())
    assert ("it is locked" if how == "locked" else "did not answer within 0.1 s") in caplog.text


def test_a_locked_keyring_asks_for_a_login_and_says_why(
    ours: Scene, system: SystemKeyring, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ours.gateway.login(SAFE, open_page=browse)
    system.is_locked = True
    with pytest.raises(Exception, match="athand tools login safe"):
        works_elsewhere(ours, tmp_path)
    assert "it is locked" in caplog.text
    system.is_locked = False
    assert works_elsewhere(ours, tmp_path)


def test_a_machine_that_has_lost_its_keyring_says_so(
    ours: Scene, system: SystemKeyring, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ours.gateway.login(SAFE, open_page=browse)
    without(system)
    with pytest.raises(Exception, match="athand tools login safe"):
        works_elsewhere(ours, tmp_path)
    assert "There is no keyring now" in caplog.text


def test_the_keyring_is_not_asked_about_servers_without_a_login(ours: Scene, system: SystemKeyring) -> None:
    ours.gateway.connect(SAFE)
    assert ours.gateway.wait(60)
    assert system.asked == 0


def test_a_logout_takes_the_login_out_of_the_keyring(ours: Scene, system: SystemKeyring, tmp_path: Path) -> None:
    from athand.tools.oauth import forget_login

    ours.gateway.login(SAFE, open_page=browse)
    assert forget_login(tmp_path / "logins", SAFE, ours.launches[SAFE])
    assert not system.kept and not list((tmp_path / "logins").iterdir())
    assert not forget_login(tmp_path / "logins", SAFE, ours.launches[SAFE])
