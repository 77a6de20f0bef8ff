import pytest
from tests.flows.webapp import WebApp

from recollect import Recollect


@pytest.fixture
def flows(recollect):
    """The flows of an empty store, of each engine."""
    return recollect.flows


@pytest.fixture(scope="session")
def site():
    """The address of the test pages."""
    with WebApp() as app:
        yield app.url


@pytest.fixture(scope="module")
def shared_flows(tmp_path_factory):
    """Flows in memory for all tests of a module, in a home of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        with Recollect(":memory:") as recollect:
            yield recollect.flows


@pytest.fixture(scope="module")
def browser(shared_flows, tmp_path_factory):
    """One running Chromium for all tests of a module; each begins by going to its page."""
    pictures = tmp_path_factory.mktemp("pictures")
    with shared_flows.open_browser(timeout_s=5, git={}, screenshots=pictures) as opened:
        yield opened


@pytest.fixture
def at(browser, site):
    """Goes to a test page, in the only tab there is."""

    def at(path):
        while len(browser.get_state().tabs) > 1:
            browser.close_tab()
        browser.navigate(site + path)
        return browser

    return at
