"""Who may log in to the page, and what a session is good for: nobody gets in by another page's hand."""

import gzip
import hashlib
import itertools
import logging
import re
import threading

import pytest
from starlette.testclient import TestClient
from tests.adapters.gateway import ADDRESS, is_problem, opened

from athand.adapters.http.middleware import Limits, Rate
from athand.adapters.http.page import read_files
from athand.adapters.http.sessions import LINK, SECONDS, SESSION, Sessions, create_link, sessions_file
from athand.adapters.http.token_registry import TokenRegistry, create_token, ensure_owner_token, revoke_token

PAGE = {"X-Athand": "page"}
SAME = {"Sec-Fetch-Site": "same-origin"}
OURS = {**PAGE, **SAME}
SEARCHING = {"query": "anything"}


@pytest.fixture
def gateway(tmp_path):
    with opened(tmp_path, mcp=False, limits=Limits(failures=Rate(1000, 1))) as gateway:
        yield gateway


def log_in(gateway, **secret):
    return gateway.client.post("/v1/session", json=secret, headers=OURS)


def code_of(link):
    return link.partition("#")[2]


def search(gateway, headers=OURS, method="POST"):
    given = {"json": SEARCHING} if method == "POST" else {"params": SEARCHING}
    return gateway.client.request(method, "/v1/search", headers=headers, **given)


def test_the_address_of_the_server_leads_to_the_page(gateway):
    for path in ("/", "/ui"):
        answer = gateway.client.get(path, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (302, "/ui/")


def test_the_page_and_its_files_need_no_token_and_run_nothing_but_themselves(gateway):
    for path in ("/ui/", "/ui/search", "/ui/documents/a/b.md", *(f"/ui/static/{name}" for name in read_files())):
        answer = gateway.client.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-security-policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
            "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
            "trusted-types 'none'"
        )
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert is_problem(gateway.client.get(path, headers={"Host": "evil.example"}), 421)
        assert is_problem(gateway.client.get(path, headers={"Origin": "https://evil.example"}), 403)


@pytest.mark.parametrize("path", ["../../../token", "..%2f..%2ftoken", "vendor/", "", "/etc/passwd", "style.css%00"])
def test_no_address_leads_to_another_file(gateway, path):
    answer = gateway.client.get(f"/ui/static/{path}")
    assert gateway.owner not in answer.text and "root:" not in answer.text
    assert answer.status_code in (401, 404) or answer.content == read_files()["index.html"]


def test_a_token_opens_a_session_whose_cookie_no_script_can_read(gateway):
    answer = log_in(gateway, token=gateway.owner)
    assert answer.json()["name"] == "owner"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("athand-7325=") and "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert "Path=/" in cookie and f"Max-Age={12 * 3600}" in cookie
    assert gateway.owner not in cookie and gateway.owner not in answer.text
    assert search(gateway).status_code == 200
    assert search(gateway, SAME, "GET").status_code == 200
    assert gateway.client.get("/v1/session", headers=SAME).json()["name"] == "owner"


def test_over_tls_the_cookie_travels_over_tls_alone(gateway):
    with TestClient(gateway.app, base_url="https://127.0.0.1:7325") as client:
        answer = client.post("/v1/session", json={"token": gateway.owner}, headers=OURS)
        assert "; Secure" in answer.headers["set-cookie"]


def test_who_is_not_logged_in_is_told_so_without_an_error(gateway):
    assert gateway.client.get("/v1/session", headers=SAME).json()["name"] is None
    assert is_problem(search(gateway), 401)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        PAGE,
        {"Sec-Fetch-Site": "cross-site", **PAGE},
        {"Sec-Fetch-Site": "same-site", **PAGE},
        {"Sec-Fetch-Site": "none", **PAGE},
        SAME,
        {"Origin": ADDRESS},
    ],
)
def test_a_cookie_alone_changes_nothing(gateway, headers):
    log_in(gateway, token=gateway.owner)
    assert is_problem(search(gateway, headers), 401)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example", **OURS}, 403),
        ({"Origin": "null", **OURS}, 403),
        ({"Origin": "http://127.0.0.1:9999", **OURS}, 403),
        ({"Host": "evil.example", **OURS}, 421),
    ],
)
def test_another_page_is_refused_even_with_the_cookie(gateway, headers, status):
    log_in(gateway, token=gateway.owner)
    assert is_problem(search(gateway, headers), status)


def test_a_browser_that_does_not_say_who_asks_is_believed_by_its_origin(gateway):
    log_in(gateway, token=gateway.owner)
    assert search(gateway, {"Origin": ADDRESS, **PAGE}).status_code == 200


def test_a_form_can_neither_log_in_nor_out(gateway):
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert is_problem(gateway.client.post("/v1/session", content=b"token=x", headers={**form, **OURS}), 415)
    assert is_problem(gateway.client.post("/v1/session", json={"token": gateway.owner}, headers=SAME), 403)
    log_in(gateway, token=gateway.owner)
    assert is_problem(gateway.client.delete("/v1/session", headers=SAME), 401)


def test_logging_out_ends_the_session_on_the_server(gateway):
    log_in(gateway, token=gateway.owner)
    kept = gateway.client.cookies["athand-7325"]
    gateway.client.delete("/v1/session", headers=OURS)
    assert "athand-7325" not in gateway.client.cookies
    gateway.client.cookies.set("athand-7325", kept)
    assert is_problem(search(gateway), 401)


def test_a_session_that_was_planted_is_not_used(gateway):
    gateway.client.cookies.set("athand-7325", "planted")
    log_in(gateway, token=gateway.owner)
    assert gateway.client.cookies.get("athand-7325", domain="127.0.0.1") != "planted"
    own = gateway.client.cookies.get("athand-7325", domain="127.0.0.1")
    gateway.client.cookies.clear()
    planted = {**OURS, "Cookie": f"athand-7325=planted; athand-7325={own}"}
    assert is_problem(search(gateway, planted), 401), "of two cookies, one was planted"


def test_a_new_login_ends_the_session_before(gateway):
    log_in(gateway, token=gateway.owner)
    before = gateway.client.cookies["athand-7325"]
    log_in(gateway, token=gateway.owner)
    assert gateway.client.cookies["athand-7325"] != before
    gateway.client.cookies.clear()
    assert is_problem(search(gateway, {**OURS, "Cookie": f"athand-7325={before}"}), 401)


def test_a_session_may_do_what_its_token_may_and_ends_with_it(gateway):
    _, text = create_token(gateway.folder, "reader", ["search"])
    assert log_in(gateway, token=text).json()["scopes"] == ["search"]
    assert search(gateway).status_code == 200
    refused = gateway.client.post("/v1/memories/add", json={"content": "x"}, headers=OURS)
    assert is_problem(refused, 403) and "'write'" in refused.json()["detail"]
    revoke_token(gateway.folder, "reader")
    assert is_problem(search(gateway), 401)
    assert gateway.client.get("/v1/session", headers=SAME).json()["name"] is None


def test_a_link_logs_in_once(gateway):
    link = create_link(gateway.folder, ADDRESS)
    assert link.startswith(f"{ADDRESS}/ui/login#")
    assert log_in(gateway, code=code_of(link)).json()["name"] == "owner"
    assert search(gateway).status_code == 200
    assert is_problem(log_in(gateway, code=code_of(link)), 401)


def test_a_link_of_another_owner_is_none(gateway):
    link = create_link(gateway.folder, ADDRESS)
    (gateway.folder / "token").unlink()
    ensure_owner_token(gateway.folder)
    assert is_problem(log_in(gateway, code=code_of(link)), 401)


def test_what_logs_in_is_not_what_stays_in(gateway):
    """A code is no session, a session no code, and neither is a token."""
    code = code_of(create_link(gateway.folder, ADDRESS))
    assert is_problem(search(gateway, {**OURS, "Cookie": f"athand-7325={code}"}), 401)
    assert is_problem(gateway.ask("GET", "/v1/search", code, params=SEARCHING), 401)
    session = log_in(gateway, token=gateway.owner) and gateway.client.cookies["athand-7325"]
    gateway.client.cookies.clear()
    assert is_problem(log_in(gateway, code=session), 401)
    assert is_problem(log_in(gateway, token=session), 401)


def test_wrong_tokens_are_slowed_down(tmp_path):
    with opened(tmp_path, mcp=False, limits=Limits(failures=Rate(3, 0.001))) as gateway:
        found = [log_in(gateway, token="wrong").status_code for _ in range(4)]
        assert found == [401, 401, 401, 429]
        assert log_in(gateway, token=gateway.owner).status_code == 200, "whoever has a token gets in"


class Clock:
    now = 1_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def folder(tmp_path):
    tmp_path.chmod(0o700)
    ensure_owner_token(tmp_path)
    return tmp_path


def sessions_in(folder, clock):
    ticks = itertools.count(10, 10)
    return Sessions(TokenRegistry(folder, clock=lambda: next(ticks)), clock=clock)


def test_a_session_lasts_12_hours_and_a_link_5_minutes(folder):
    clock = Clock()
    sessions = sessions_in(folder, clock)
    begun = sessions.begin((folder / "token").read_text().strip())
    code = code_of(create_link(folder, ADDRESS, clock=clock))
    clock.now += SECONDS[LINK]
    assert sessions.redeem(code) is None
    clock.now += SECONDS[SESSION] - SECONDS[LINK] - 1
    assert sessions.find(begun.secret).name == "owner"
    clock.now += 1
    assert sessions.find(begun.secret) is None


def test_a_session_outlives_the_server(folder):
    begun = sessions_in(folder, Clock()).begin((folder / "token").read_text().strip())
    assert sessions_in(folder, Clock()).find(begun.secret).name == "owner"


def test_of_fifty_who_use_a_link_at_once_one_gets_in(folder):
    sessions = sessions_in(folder, Clock())
    code = code_of(create_link(folder, ADDRESS, clock=Clock()))
    found = []
    asking = [threading.Thread(target=lambda: found.append(sessions.redeem(code))) for _ in range(50)]
    for each in asking:
        each.start()
    for each in asking:
        each.join()
    assert len(found) == 50 and len([each for each in found if each]) == 1


def test_of_fifty_who_log_in_at_once_everyone_gets_in(folder):
    sessions, token, found = sessions_in(folder, Clock()), (folder / "token").read_text().strip(), []
    asking = [threading.Thread(target=lambda: found.append(sessions.begin(token))) for _ in range(50)]
    for each in asking:
        each.start()
    for each in asking:
        each.join()
    assert len({each.secret for each in found}) == 50
    assert all(sessions.find(each.secret).name == "owner" for each in found)


def test_what_is_kept_opens_nothing_and_is_private(folder):
    sessions = sessions_in(folder, Clock())
    token = (folder / "token").read_text().strip()
    begun, code = sessions.begin(token), code_of(create_link(folder, ADDRESS, clock=Clock()))
    kept = sessions_file(folder)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert not any(secret in kept.read_text() for secret in (begun.secret, code, token))


@pytest.mark.parametrize("data", [b"", b"{", b'{"grants": 1}', b'{"grants": [{"kind": "session"}]}', b"[" * 5000])
def test_a_damaged_file_logs_everyone_out_and_breaks_nothing(folder, data, caplog):
    sessions_file(folder).write_bytes(data)
    sessions_file(folder).chmod(0o600)
    sessions = sessions_in(folder, Clock())
    assert sessions.find("anything") is None
    assert sessions.begin((folder / "token").read_text().strip()) is not None


def test_the_log_has_neither_token_nor_code_nor_session(gateway, caplog):
    caplog.set_level(logging.DEBUG)
    code = code_of(create_link(gateway.folder, ADDRESS))
    log_in(gateway, code=code)
    session = gateway.client.cookies["athand-7325"]
    search(gateway)
    log_in(gateway, token=gateway.owner)
    log_in(gateway, token="wrong-" + gateway.owner)
    assert not any(secret in caplog.text for secret in (code, session, gateway.owner))


def test_the_page_loads_nothing_from_elsewhere():
    for name, data in read_files().items():
        found = re.findall(r"https?://[\w.]+", data.decode())
        assert name.startswith("vendor/") or set(found) <= {"http://www.w3.org"}, name


def test_what_others_wrote_is_as_they_wrote_it():
    """Preact 11.2.0 and htm 3.1.1 as npm has them, without the name of a map and with a path in place of a name."""
    written = {name: data.decode() for name, data in read_files().items()}
    maps = {
        "preact": "//# sourceMappingURL=preact.mjs.map\n",
        "hooks": "//# sourceMappingURL=hooks.mjs.map\n",
        "htm": "",
    }
    found = {}
    for name, end in maps.items():
        original = written[f"vendor/{name}.js"].replace('"./preact.js"', '"preact"') + end
        found[name] = hashlib.sha256(original.encode()).hexdigest()
    assert found == {
        "preact": "bdcbd9abdf2c77c5c45326eab42191e949222d479d0d5f69467387a77040cb55",
        "hooks": "e862ab2973aa6455eaa0f77c5d832d2157d6be59a17c8ba546550a575b58c6b4",
        "htm": "ab33dd3f38059b9be4d5f5350128eefb2356639c4e0bbe9d9e8b3ba75847e9e4",
    }
    assert "Jason Miller" in written["vendor/LICENSE-preact.txt"] and "Apache" in written["vendor/LICENSE-htm.txt"]


def test_the_whole_page_has_at_most_60_kilobytes():
    sizes = [len(gzip.compress(data)) for name, data in read_files().items() if not name.endswith(".txt")]
    assert sum(sizes) <= 60_000
