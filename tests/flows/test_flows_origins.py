"""A replay types at the origin where it was recorded: no other server gets a password, nor any other text."""

import json
import os
import shutil
import subprocess
import sys
from functools import partial

import pytest
from tests.flows.changing import LOGIN, served
from tests.flows.waiting import patient_replays
from tests.waiting import PATIENCE

from athand.errors import InvalidInput
from athand.flows.origins import origin_of

PASSWORD = "correct horse 7!"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
HTTPS, HTTP = "https://shop.test", "http://shop.test"


@pytest.fixture(autouse=True)
def patience():
    with patient_replays():
        yield


@pytest.fixture
def shop():
    with served() as site:
        yield site


@pytest.fixture
def stranger():
    with served() as site:
        yield site


@pytest.fixture
def browser(shared_flows, in_shared_chromium):
    with shared_flows.open_browser(git={}, app="shop") as browser:
        yield browser


def log_in(flows, browser, address):
    """A session that logs in at this address; its password is its second step."""
    session = flows.start_session(goal="Log in", app="shop")
    with browser.record_into(session.id):
        browser.navigate(address)
        browser.type(PASSWORD, test_id="password")
        browser.click(test_id="sign-in")
    return session.id


def redirect(site, address):
    site.pages["/"] = f"<script>location.replace('{address}')</script>"


def typed(browser, selector="[data-testid=password]"):
    """What the fields of the page contain now, in all frames."""

    async def read(context):
        return [
            await field.input_value() for frame in context.page.frames for field in await frame.locator(selector).all()
        ]

    return browser._process.run(read, PATIENCE)


def test_a_login_that_leads_to_another_port_gets_no_password(shared_flows, browser, shop, stranger):
    session = log_in(shared_flows, browser, shop.url)
    redirect(shop, stranger.url)

    done = shared_flows.replay(browser, session, values={"password": PASSWORD})

    assert (done.ok, done.code, done.stopped_at) == (False, "ORIGIN_DIFFERS", 2)
    assert stranger.url in done.reason and shop.url in done.reason
    assert browser.observe().url == f"{stranger.url}/"
    assert typed(browser) == [""]
    assert PASSWORD not in str([step.to_dict() for step in shared_flows.steps(done.session_id)])


def test_a_login_that_leads_to_another_host_gets_no_password(shared_flows, browser, shop):
    session = log_in(shared_flows, browser, shop.url)
    login = (shop.pages["/"], shop.url.replace("127.0.0.1", "localhost"))
    shop.pages["/"] = (
        f"<script>if (location.hostname != 'localhost') location.replace('{login[1]}/')</script>{login[0]}"
    )

    done = shared_flows.replay(browser, session, values={"password": PASSWORD})

    assert (done.ok, done.code, done.stopped_at) == (False, "ORIGIN_DIFFERS", 2)
    assert browser.observe().url == f"{login[1]}/"
    assert typed(browser) == [""]


def test_a_login_without_encryption_gets_no_password_that_was_typed_with_it(shared_flows, browser):
    pages = {f"{HTTPS}/": LOGIN, f"{HTTP}/": LOGIN}

    async def serve(context):
        await context._context.route(
            "**/*", lambda route: route.fulfill(body=pages[route.request.url], content_type="text/html")
        )

    browser._process.run(serve, PATIENCE)
    session = shared_flows.start_session(app="shop")
    with browser.record_into(session.id):
        browser.navigate(HTTPS)
        browser.type(PASSWORD, test_id="password")
    pages[f"{HTTPS}/"] = f"<script>location.replace('{HTTP}/')</script>"

    done = shared_flows.replay(browser, session.id, values={"password": PASSWORD})

    assert (done.code, done.stopped_at) == ("ORIGIN_DIFFERS", 2)
    assert browser.observe().url == f"{HTTP}/"
    assert typed(browser) == [""]


def test_a_page_that_moves_away_while_its_field_is_waited_for_takes_nothing_along(
    shared_flows, browser, shop, stranger
):
    session = log_in(shared_flows, browser, shop.url)
    shop.change("/", ('type="password"', 'type="password" disabled'))
    shop.pages["/"] += f"<script>setTimeout(() => location.replace('{stranger.url}'), 1500)</script>"

    done = shared_flows.replay(browser, session, values={"password": PASSWORD})

    assert not done.ok
    assert browser.observe().url == f"{stranger.url}/"
    assert typed(browser) == [""]


def test_a_frame_of_another_origin_gets_no_password(shared_flows, browser, shop, stranger):
    shop.pages["/framed"] = f'<h1>Sign in</h1><iframe src="{shop.url}/" width=400 height=300></iframe>'
    session = shared_flows.start_session(app="shop")
    with browser.record_into(session.id):
        browser.navigate(f"{shop.url}/framed")
        browser.type(PASSWORD, test_id="password")
    shop.change("/framed", (shop.url, stranger.url))

    done = shared_flows.replay(browser, session.id, values={"password": PASSWORD})

    assert (done.code, done.stopped_at) == ("ORIGIN_DIFFERS", 2)
    assert typed(browser) == [""]


@pytest.mark.parametrize("target", [{"test_id": "password"}, {"selector": "input[type=password]"}])
def test_a_step_keeps_the_origin_of_the_frame_that_it_typed_into(shared_flows, browser, shop, stranger, target):
    shop.pages["/framed"] = f'<h1>Sign in</h1><iframe src="{stranger.url}/" width=400 height=300></iframe>'
    session = shared_flows.start_session(app="shop")
    with browser.record_into(session.id):
        browser.navigate(f"{shop.url}/framed")
        browser.type(PASSWORD, **target)

    assert shared_flows.steps(session.id)[-1].origin == stranger.url
    done = shared_flows.replay(browser, session.id, values={"password": PASSWORD})
    assert done.ok, done.reason
    assert typed(browser) == [PASSWORD]


def test_no_text_and_no_choice_goes_to_another_origin(shared_flows, browser, shop, stranger):
    sessions = []
    for act in (
        lambda: browser.type("gift", selector="#note"),
        lambda: browser.select("l", test_id="size"),
        lambda: browser.press("7", selector="#note"),
    ):
        sessions.append(shared_flows.start_session(app="shop"))
        with browser.record_into(sessions[-1].id):
            browser.navigate(f"{shop.url}/shop")
            act()
    shop.pages["/shop"] = f"<script>location.replace('{stranger.url}/shop')</script>"

    for session in sessions:
        done = shared_flows.replay(browser, session.id)

        assert (done.code, done.stopped_at) == ("ORIGIN_DIFFERS", 2)
        assert typed(browser, "#note") == [""]
        assert typed(browser, "[data-testid=size]") == ["s"]


def test_an_origin_that_the_caller_names_gets_what_is_typed(shared_flows, browser, shop, stranger):
    session = log_in(shared_flows, browser, shop.url)
    redirect(shop, stranger.url)

    done = shared_flows.replay(browser, session, values={"password": PASSWORD}, origins=[f"{stranger.url}/login"])

    assert done.ok, done.reason


def test_a_secret_whose_origin_is_not_known_is_typed_at_a_named_origin_only(shared_flows, browser, shop):
    session = shared_flows.start_session(app="shop")
    shared_flows.record(session.id, tool="type", target={"testId": "username"}, input={"text": "Ada"})
    shared_flows.record(session.id, tool="type", target={"testId": "password"}, input={"text": PASSWORD})
    browser.navigate(shop.url)

    done = shared_flows.replay(browser, session.id, values={"password": PASSWORD})
    assert (done.code, done.stopped_at) == ("ORIGIN_DIFFERS", 2)
    assert typed(browser) == [""]

    done = shared_flows.replay(browser, session.id, values={"password": PASSWORD}, origins=[shop.url])
    assert done.ok, done.reason


def test_an_older_recording_has_the_origin_of_its_page(shared_flows, browser, shop):
    session = log_in(shared_flows, browser, shop.url)
    with shared_flows.store.transaction(spaces=("shop",)) as transaction:
        rows = transaction.rows("SELECT id, record FROM flow_steps WHERE session = :session", {"session": session})
        for id_, record in rows:
            old = {key: value for key, value in json.loads(record).items() if key != "origin"}
            transaction.execute(
                "UPDATE flow_steps SET record = :record WHERE space = 'shop' AND id = :id",
                {"record": json.dumps(old), "id": id_},
            )

    assert [step.origin for step in shared_flows.steps(session)][1:] == [shop.url, shop.url]


def test_an_export_keeps_the_origin_of_each_step(shared_flows, browser, shop, stranger, tmp_path):
    shop.pages["/framed"] = f'<h1>Sign in</h1><iframe src="{stranger.url}/" width=400 height=300></iframe>'
    session = shared_flows.start_session(app="shop")
    with browser.record_into(session.id):
        browser.navigate(f"{shop.url}/framed")
        browser.type(PASSWORD, test_id="password")

    shared_flows.export(tmp_path, session.id)
    shared_flows.delete(session.id)
    shared_flows.import_(tmp_path)

    assert shared_flows.steps(session.id)[-1].origin == stranger.url


@pytest.mark.parametrize("language", ["python", "typescript"])
def test_an_exported_test_types_a_secret_at_its_origin_only(shared_flows, browser, shop, language):
    source = shared_flows.script(log_in(shared_flows, browser, shop.url), language)

    lines = [line for line in source.splitlines() if "BASE_URL)" in line or "FLOW_PASSWORD" in line]
    assert len(lines) == 2
    assert "BASE_URL" in lines[0]
    assert "FLOW_PASSWORD" in lines[1]


@pytest.mark.skipif(CHROMIUM is None, reason="without a Chromium on this machine")
def test_an_exported_test_stops_where_another_origin_asks_for_the_secret(
    shared_flows, browser, shop, stranger, tmp_path
):
    test = tmp_path / "test_log_in.py"
    test.write_text(shared_flows.script(log_in(shared_flows, browser, shop.url), "python"))
    environment = {**os.environ, "FLOW_PASSWORD": PASSWORD, "ATHAND_CHROMIUM": CHROMIUM}
    asked = partial(
        subprocess.run, [sys.executable, test], env=environment, capture_output=True, text=True, timeout=PATIENCE * 3
    )

    assert asked().returncode == 0
    redirect(shop, stranger.url)
    test.write_text(test.read_text().replace("expect(page)", "expect.set_options(timeout=1_000); expect(page)", 1))
    stopped = asked()
    assert stopped.returncode == 1
    assert "to_have_url(pages_of(BASE_URL))" in stopped.stderr


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://Shop.test:443/a?b#c", "https://shop.test"),
        ("http://shop.test:443/", "http://shop.test:443"),
        ("http://user:secret@shop.test/", "http://shop.test"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        ("blob:https://shop.test/1-2-3", "https://shop.test"),
        ("chrome-extension://abcdef/home.html", "chrome-extension://abcdef"),
        ("file:///tmp/page.html", "file://"),
        ("data:text/html,hello", ""),
        ("about:blank", ""),
        ("http://[redacted: typed]/", ""),
        ("http://shop.test:[redacted: typed]/", ""),
        ("", ""),
    ],
)
def test_an_address_has_an_origin(address, origin):
    assert origin_of(address) == origin


def test_what_is_no_origin_is_refused(shared_flows, browser, shop):
    session = log_in(shared_flows, browser, shop.url)
    for wrong in (["shop.test"], "https://shop.test", ["data:,x"]):
        with pytest.raises(InvalidInput, match=r"origin"):
            shared_flows.replay(browser, session, values={"password": PASSWORD}, origins=wrong)
