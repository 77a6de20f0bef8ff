"""A session as a Playwright test: it runs, it fails when the page breaks, and no text of a page becomes code."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from playwright.sync_api import sync_playwright
from tests.flows.changing import served
from tests.flows.webapp import WebApp
from tests.tools.node import INSTALLED, node, package
from tests.waiting import PATIENCE

from athand.errors import ActionFailed, InvalidInput
from athand.flows.export import LANGUAGES, export_script
from athand.flows.model import FlowSession, Observation, Step

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
MASK = "[redacted: typed]"
HOSTILE = (
    "quote \" and ' and ` and \\",
    "line\nbreak\r\x0b\x0c\x1c\x85\u2028\u2029end",
    "${process.exit(3)} {0} %s {{x}} #{y}",
    '"""; import os; os._exit(3); """',
    "*/ process.exit(3); // </script>",
    "\u202etrojan\u2066 source\u2069 \ufeff\x00\x7f",
    "naïve 漢字 😀 \U000e0041",
    "\\u0022 \\x22 \\N{QUOTATION MARK} \\",
)


def a_session(goal="Buy a kettle", **more):
    return FlowSession(id="s-1", app="shop", created_at=NOW, goal=goal, **more)


def a_step(position, verb, target=None, given=None, before=None, after_screen=None, **more):
    screen = before.screen if before else "unknown"
    step = Step(
        f"step{position}",
        "s-1",
        "shop",
        position,
        NOW,
        f"ui_{verb}",
        verb,
        given or {},
        target or {},
        True,
        None,
        (),
        screen,
        before,
    )
    return replace(step, after_screen=after_screen, **more)


def seen(url, screen, *test_ids, a11y=()):
    return Observation(
        screen, url, tuple({"testId": each, "tag": "div", "visible": True} for each in test_ids), tuple(a11y)
    )


def purchase(url):
    """The steps of a session in the shop, as they are recorded."""
    login = seen(f"{url}/", "login", "username", "password", "sign-in", "guest")
    shop = seen(f"{url}/shop", "shop", "size", "add-to-cart", "add-to-wishlist")
    cart = seen(f"{url}/shop", "shop · your cart", "checkout")
    order = seen(
        f"{url}/orders/1234567", "orders", "thanks", a11y=[{"ref": "e1", "role": "heading", "name": "Order placed"}]
    )
    return [
        a_step(1, "launch", given={"url": f"{url}/"}),
        a_step(2, "describe_screen", before=login),
        a_step(
            3,
            "type",
            {"testId": "username", "role": "textbox", "name": "User name"},
            {"text": "Ada", "clear": True},
            login,
        ),
        a_step(4, "type", {"role": "textbox", "name": "Password"}, {"text": MASK, "submit": True}, login),
        a_step(5, "select", {"testId": "size"}, {"value": "Large", "by": "label"}, shop),
        a_step(6, "type", {"selector": "#note"}, {"text": "gift", "clear": False}, shop),
        a_step(
            7, "click", {"testId": "gone"}, before=shop, ok=False, error={"code": "TARGET_NOT_FOUND", "message": ""}
        ),
        a_step(8, "click", {"a11yRef": "e4", "role": "button", "name": "Add to cart"}, before=shop),
        a_step(9, "press", given={"key": "Tab"}, before=cart),
        a_step(10, "click", {"testId": "checkout", "role": "button", "name": "Check out"}, before=cart),
        a_step(11, "describe_screen", before=order),
    ]


def tour(url):
    """A session that goes to another tab, and back."""
    shop, help_ = seen(f"{url}/shop", "shop", "size"), seen(f"{url}/help", "help", "ask")
    return [
        a_step(1, "navigate", given={"url": f"{url}/shop"}),
        a_step(2, "click", {"role": "link", "name": "Help"}, before=shop),
        a_step(3, "switch_tab", given={"index": 1}, before=shop),
        a_step(4, "click", {"testId": "ask"}, before=help_),
        a_step(5, "close_tab", before=help_),
        a_step(6, "click", {"testId": "add-to-cart"}, before=shop),
    ]


@pytest.fixture
def site():
    with served() as site:
        yield site


def ran(command, folder, **environment):
    home = {**os.environ, "HOME": str(folder), "ATHAND_CHROMIUM": CHROMIUM or "", **environment}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=5 * PATIENCE, env=home)


def patient(source):
    """The same script, which expects nothing at once."""
    return source.replace("def test_", f"expect.set_options(timeout={PATIENCE * 1000})\n\n\ndef test_")


class Player:
    """Calls the test in a script with a new page, as pytest would: all of them in one browser."""

    def __init__(self):
        self._thread = ThreadPoolExecutor(1)  # Playwright is used by the thread that started it
        self._playwright = self._do(sync_playwright().start)
        self._browser = self._do(self._playwright.chromium.launch, executable_path=CHROMIUM)

    def __call__(self, source):
        made = {"__name__": "made"}
        exec(compile(patient(source), "made.py", "exec"), made)
        [test] = [each for name, each in made.items() if name.startswith("test_")]
        self._do(self._play, test)

    def _play(self, test):
        with self._browser.new_context() as context:
            context.set_default_timeout(PATIENCE * 1000)
            test(page=context.new_page())

    def _do(self, work, *given, **named):
        return self._thread.submit(work, *given, **named).result()

    def close(self):
        self._do(self._playwright.stop)
        self._thread.shutdown()


@pytest.fixture(scope="module")
def play():
    with closing(Player()) as play:
        yield play


@pytest.fixture
def password(monkeypatch):
    monkeypatch.setenv("FLOW_PASSWORD", "hunter2")


def test_the_script_of_a_session_does_it_again(site, tmp_path):
    (tmp_path / "made.py").write_text(patient(export_script(a_session(), purchase(site.url), "python")), "utf-8")

    done = ran([sys.executable, "-W", "error", "made.py"], tmp_path, FLOW_PASSWORD="hunter2")

    assert done.returncode == 0, done.stderr


def test_what_a_browser_recorded_runs_as_a_script(shared_flows, browser, play, monkeypatch):
    with WebApp() as app:
        session = shared_flows.start_session(goal="Log in, send coins, press in a frame")
        with browser.record_into(session.id):
            browser.navigate(f"{app.url}/login.html")
            browser.type("ada", test_id="user-name")
            browser.type("s3cret pass", role="textbox", name="Password")
            browser.type("1234", selector="#pin")
            browser.click(role="radio", name="Large")
            browser.type("2001-02-03", test_id="born")
            browser.click(test_id="log-in")
            browser.click(test_id="nav-send")
            browser.type("jon", test_id="recipient")
            browser.type("7", test_id="amount", submit=True)
            browser.navigate(f"{app.url}/frames.html")
            nodes = browser.describe_screen().observation.a11y
            browser.click(ref=next(node["ref"] for node in nodes if node["name"] == "Press two"))
            browser.describe_screen()

        source = shared_flows.script(session.id)

        assert "s3cret" not in source
        assert "1234" not in source
        monkeypatch.setenv("FLOW_PASSWORD", "x")
        monkeypatch.setenv("FLOW_PIN", "1")
        play(source)


MENU = """<!doctype html><title>{title}</title><style>ul {{ display: none }} nav:hover ul {{ display: block }}</style>
<h1>{title}</h1><nav><button>Menu</button><ul><li><a href="{other}">Go to {other}</a></li></ul></nav>"""


def test_hover_back_and_forward_are_recorded_replayed_and_exported(shared_flows, browser, play, tmp_path):
    for title, other in (("tea", "cups"), ("cups", "tea")):
        (tmp_path / f"{title}.html").write_text(MENU.format(title=title, other=f"{other}.html"))
    session = shared_flows.start_session(goal="Look around")
    with browser.record_into(session.id):
        browser.navigate((tmp_path / "tea.html").as_uri())
        with pytest.raises(ActionFailed) as failed:
            browser.forward()
        assert failed.value.code == "NO_HISTORY"
        browser.hover(role="button", name="Menu")
        browser.click(role="link", name="Go to cups.html")
        assert browser.back().url.endswith("tea.html")
        assert browser.forward().url.endswith("cups.html")
        browser.describe_screen()

    assert shared_flows.replay(browser, session.id).ok
    source = shared_flows.script(session.id)
    assert "page.go_back()" in source and ".hover()" in source
    assert "await page.goForward();" in shared_flows.script(session.id, "typescript")
    play(source)


CAPITALS = """<!doctype html><title>Groups</title><style>button, h2 { text-transform: uppercase }</style>
<h1>Groups</h1><button onclick="location.hash = '/add'; said.innerHTML = '<h2>New group</h2>' +
'<p class=error>The name <b>is needed</b>.</p>'">Add group</button><div id="said"></div>"""


def test_names_in_capitals_by_css_are_found_and_the_message_is_expected(shared_flows, browser, play, tmp_path):
    page = tmp_path / "groups.html"
    page.write_text(CAPITALS)
    session = shared_flows.start_session(goal="Add a group")
    with browser.record_into(session.id):
        browser.navigate(page.as_uri())
        browser.click(role="button", name="ADD GROUP")
        browser.describe_screen()

    source = shared_flows.script(session.id)

    assert "get_by_role('button', name='Add group', exact=True)" in source
    assert "expect(page.get_by_text('The name is needed.').filter(visible=True).first).to_be_visible()" in source
    play(source)
    page.write_text(CAPITALS.replace("is needed", "is taken"))
    with pytest.raises(AssertionError, match="The name is needed"):
        play(source.replace("to_be_visible()", "to_be_visible(timeout=500)"))


def test_capitals_of_older_recordings_match_any_case(play, tmp_path):
    page = tmp_path / "groups.html"
    page.write_text(CAPITALS)
    url = page.as_uri()
    nodes = ({"ref": "e1", "role": "button", "name": "ADD GROUP"},)
    steps = [
        a_step(1, "navigate", given={"url": url}),
        a_step(2, "click", {"role": "button", "name": "ADD GROUP"}, before=seen(url, "groups", a11y=nodes)),
    ]

    play(export_script(a_session(), steps, "python"))

    assert 'name: new RegExp("^ADD GROUP$", "i")' in export_script(a_session(), steps, "typescript")


def test_typescript_leaves_the_launch_options_of_the_project_alone():
    source = export_script(a_session(), purchase("http://x"), "typescript")
    [line] = [each for each in source.splitlines() if "launchOptions" in each]
    assert line.startswith("if (chromium) ")


def test_the_script_fails_where_the_page_is_broken(site, play, password):
    source = export_script(a_session(), purchase(site.url), "python")
    site.change("/shop", ("cart.showModal()", "void 0"))
    expected = "expect(page.get_by_test_id('checkout')).to_be_visible("
    assert expected in source

    with pytest.raises(AssertionError, match=r'get_by_test_id\("checkout"\)'):
        play(source.replace(expected, f"{expected}timeout=500"))


def test_the_script_runs_against_another_address(site, play, password, monkeypatch):
    monkeypatch.setenv("BASE_URL", site.url + "/")

    play(export_script(a_session(), purchase("http://recorded.invalid:8080"), "python"))


def test_a_script_goes_from_tab_to_tab(site, play):
    play(export_script(a_session(), tour(site.url), "python"))


def test_a_secret_that_is_not_told_is_asked_for_by_name(site, play):
    with pytest.raises(RuntimeError, match="Set the environment variable FLOW_PASSWORD"):
        play(export_script(a_session(), purchase(site.url), "python"))


@pytest.mark.slow
def test_pytest_runs_the_same_file_with_a_page_of_its_own(site, tmp_path):
    (tmp_path / "conftest.py").write_text(
        "import os, pytest\nfrom playwright.sync_api import sync_playwright\n\n\n@pytest.fixture\ndef page():\n"
        "    with sync_playwright() as playwright:\n"
        '        browser = playwright.chromium.launch(executable_path=os.environ["ATHAND_CHROMIUM"])\n'
        "        yield browser.new_page()\n        browser.close()\n"
    )
    (tmp_path / "test_made.py").write_text(patient(export_script(a_session(), purchase(site.url), "python")), "utf-8")

    done = ran([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], tmp_path, FLOW_PASSWORD="hunter2")

    assert "1 passed" in done.stdout


def use_attribute(site, attribute):
    for path in ("/", "/shop", "/orders"):
        site.pages[path] = site.pages[path].replace("data-testid", attribute)


def test_an_attribute_of_the_apps_own_is_used(site, play, password):
    use_attribute(site, "data-qa:id")

    play(export_script(a_session(), purchase(site.url), "python", test_id_attribute="data-qa:id"))


def test_what_was_really_used_comes_first():
    nodes = [{"ref": "e1", "role": "button", "name": "Delete"}, {"ref": "e2", "role": "button", "name": "Delete"}]
    twice = Observation("list", "http://x/", ({"testId": "row"}, {"testId": "row"}), tuple(nodes))
    by_name = a_step(1, "click", {"role": "button", "name": "Send", "testId": "send"})
    by_ref = a_step(2, "click", {"a11yRef": "e9", "testId": "send", "role": "button", "name": "Send"})
    by_path = a_step(
        3,
        "click",
        {"a11yRef": "e2", "testId": "row", "role": "button", "name": "Delete", "selector": "li > b"},
        before=twice,
    )
    by_text = a_step(4, "click", {"a11yRef": "e3", "role": "generic", "name": "Details"})

    source = export_script(a_session(), [by_name, by_ref, by_path, by_text], "python")

    used = re.findall(r"page\.(\w+\(.*?\))\.click", source)
    assert used == [
        "get_by_role('button', name='Send', exact=True)",
        "get_by_test_id('send')",
        "locator('li > b')",
        "get_by_text('Details', exact=True)",
    ]


def test_hidden_twins_and_frames_are_told_apart():
    entries = ({"testId": "save", "visible": True}, {"testId": "save", "visible": False})
    framed = ({"ref": "e1", "role": "button", "name": "Pay", "testId": "pay", "frame": ["#card", "iframe"]},)
    steps = [
        a_step(1, "click", {"testId": "save"}, before=Observation("a", "http://x/", entries)),
        a_step(2, "click", {"testId": "pay"}, before=Observation("a", "http://x/", (), framed)),
    ]

    assert "get_by_test_id('save').filter(visible=True).click()" in export_script(a_session(), steps, "python")
    assert "page.frame_locator('#card').frame_locator('iframe').get_by_test_id('pay')" in export_script(
        a_session(), steps, "python"
    )
    assert 'getByTestId("save").filter({ visible: true }).click()' in export_script(a_session(), steps, "typescript")


def test_addresses_are_expected_without_their_data():
    source = export_script(a_session(), purchase("http://127.0.0.1:8000"), "python")

    patterns = [ast.literal_eval(found) for found in re.findall(r"re\.compile\((.*)\)\)", source)]
    assert [
        bool(re.search(patterns[-1], url)) for url in ("http://x/orders/7?a=1", "http://x/orders/", "http://x/shop")
    ] == [True, False, False]
    hash_route = [
        a_step(1, "click", {"testId": "a"}, before=seen("http://x/#/home", "home")),
        a_step(2, "get_state", before=seen("http://x/app.html#/send/42", "send")),
    ]
    pattern = ast.literal_eval(
        re.findall(r"re\.compile\((.*)\)\)", export_script(a_session(), hash_route, "python"))[0]
    )
    assert re.search(pattern, "http://x/app.html#/send/43?step=2")
    assert not re.search(pattern, "http://x/app.html#/settings")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_session_without_actions_or_places_is_refused(language):
    with pytest.raises(InvalidInput, match="nothing to export"):
        export_script(a_session(), [a_step(1, "describe_screen")], language)
    with pytest.raises(InvalidInput, match=r"Step 4 .* cannot be found again"):
        export_script(a_session(), [a_step(4, "click", {"a11yRef": "e1"})], language)


def hostile_steps():
    steps = []
    for at, text in enumerate(HOSTILE):
        before = Observation(
            text, f"http://x/{text}", ({"testId": text},), ({"ref": "e1", "role": "heading", "name": text},)
        )
        steps += [
            a_step(4 * at + 1, "type", {"testId": text, "role": text, "name": text}, {"text": text}, before),
            a_step(4 * at + 2, "click", {"role": "button", "name": text}, before=before),
            a_step(4 * at + 3, "select", {"selector": text}, {"value": text}, Observation("b", "http://x/b")),
            a_step(4 * at + 4, "navigate", given={"url": f"http://x/{text}"}, before=before),
            a_step(4 * at + 5, "switch_tab", given={"title": text}, before=before),
        ]
    return [replace(step, position=at) for at, step in enumerate(steps, 1)]


@pytest.mark.parametrize("attribute", ["data-testid", "data-qa"])
def test_no_text_of_a_page_becomes_python(attribute):
    source = export_script(a_session(goal="\n".join(HOSTILE)), hostile_steps(), "python", test_id_attribute=attribute)

    tree = ast.parse(source)
    texts = {each.value for each in ast.walk(tree) if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    assert set(HOSTILE) <= texts
    called = {
        each.func.attr if isinstance(each.func, ast.Attribute) else each.func.id
        for each in ast.walk(tree)
        if isinstance(each, ast.Call)
    }
    assert called <= set(
        "get rstrip tab range enumerate title wait_for_timeout AssertionError get_by_test_id get_by_role locator clear "
        "press_sequentially click select_option goto expect to_have_url compile to_be_visible sync_playwright launch "
        "new_page close filter".split()
    ) | {next(each.name for each in tree.body if isinstance(each, ast.FunctionDef) and each.name.startswith("test_"))}
    assert all(line.isprintable() for line in source.split("\n"))


def test_no_text_of_a_page_becomes_typescript(tmp_path):
    source = export_script(a_session(goal="\n".join(HOSTILE)), hostile_steps(), "typescript")

    assert all(line.isprintable() for line in source.split("\n"))
    code = "\n".join(line for line in source.splitlines() if not line.strip().startswith("//"))
    texts = [json.loads(each) for each in re.findall(r'"(?:[^"\\]|\\.)*"', code)]
    assert set(HOSTILE) <= set(texts)
    # Everything but strings and comments is ours: the same for harmless words.
    harmless = [
        replace(step, target={key: "a" for key in step.target}, input={key: "a" for key in step.input})
        for step in hostile_steps()
    ]
    assert _bones(source) == _bones(
        export_script(a_session(), [replace(step, before=_tame(step.before)) for step in harmless], "typescript")
    )


def _tame(before):
    return before and replace(before, test_ids=({"testId": "a"},), a11y=())


def _bones(source):
    return [
        re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
        for line in source.splitlines()
        if not line.strip().startswith(("//", "await expect", "await page.goto"))
    ]


def typescript(steps, **options):
    return export_script(a_session(), steps, "typescript", **options)


def prepare_typescript(folder, **sources):
    package("@playwright/test")
    (folder / "node_modules").symlink_to(INSTALLED)
    (folder / "package.json").write_text('{"type": "module"}')
    for name, source in sources.items():
        (folder / f"{name}.ts").write_text(source, "utf-8")


@pytest.fixture(scope="module")
def ran_typescript(tmp_path_factory):
    """What came of all scripts, by name, run one after the other in one process of the runner."""
    folder = tmp_path_factory.mktemp("typescript")
    with served() as site, served() as other:
        use_attribute(other, "data-qa")
        sources = {
            "purchase": typescript(purchase(other.url), test_id_attribute="data-qa"),
            "tabs": typescript(tour(site.url)),
            "untold": typescript(purchase(site.url)).replace("FLOW_PASSWORD", "FLOW_UNTOLD"),
        }
        limits = {"timeout": 1000 * PATIENCE, "expect": {"timeout": 1000 * PATIENCE}, "workers": 1, "testMatch": "*.ts"}
        prepare_typescript(folder, **sources)
        (folder / "playwright.config.js").write_text(f"export default {json.dumps(limits)};")
        runner = str(INSTALLED / "@playwright" / "test" / "cli.js")
        done = ran([node(), runner, "test", "--reporter=json"], folder, FLOW_PASSWORD="hunter2")
    suites = json.loads(done.stdout)["suites"]
    return {suite["file"].removesuffix(".ts"): suite["specs"][0]["tests"][0]["results"][-1] for suite in suites}


def test_typescript_does_it_again_by_the_apps_own_attribute(ran_typescript):
    assert ran_typescript["purchase"]["status"] == "passed", ran_typescript["purchase"]


def test_typescript_goes_from_tab_to_tab_by_the_usual_attribute(ran_typescript):
    assert ran_typescript["tabs"]["status"] == "passed", ran_typescript["tabs"]


def test_typescript_asks_for_secrets_by_name(ran_typescript):
    assert ran_typescript["untold"]["status"] == "failed"
    assert "Set the environment variable FLOW_UNTOLD" in ran_typescript["untold"]["error"]["message"]


def test_typescript_compiles_strictly(tmp_path):
    prepare_typescript(tmp_path, one=typescript(purchase("http://x")), two=typescript(tour("http://x")))
    options = "--strict --noEmit --target es2022 --module nodenext --lib es2023,dom --skipLibCheck --noUnusedLocals"
    compiler = str(package("typescript") / "bin" / "tsc")

    done = subprocess.run(
        [node(), compiler, *options.split(), "one.ts", "two.ts"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=5 * PATIENCE,
    )

    assert done.stdout + done.stderr == ""
