import pytest
from tests.flows.sharing import shared_chromium
from tests.flows.webapp import WebApp

from athand import Athand


@pytest.fixture
def flows(athand):
    """The flows of an empty store, of each engine."""
    return athand.flows


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def engine(request):
    """A store of each engine that a module fills once, for tests that only read."""
    with Athand(":memory:" if request.param == "sqlite" else request.getfixturevalue("module_postgres_url")) as opened:
        yield opened


@pytest.fixture(scope="session")
def site():
    """The address of the test pages."""
    with WebApp() as app:
        yield app.url


@pytest.fixture(scope="module")
def shared_flows():
    """Flows in memory for all tests of a module."""
    with Athand(":memory:") as athand:
        yield athand.flows


@pytest.fixture
def in_shared_chromium(request):
    """Browsers that are opened in this test are contexts of the one Chromium of the process."""
    with shared_chromium(request.config):
        yield


@pytest.fixture
def browser(shared_flows, in_shared_chromium, tmp_path):
    """A browser in a context of its own, whose session is one of the module's."""
    with shared_flows.open_browser(git={}, screenshots=tmp_path / "pictures") as opened:
        yield opened


@pytest.fixture
def at(browser, site):
    """Goes to a test page."""

    def at(path):
        browser.navigate(site + path)
        return browser

    return at
