"""Records the walks of `athand demo` in a real browser on the test pages. Run: python -m scripts.record_demo"""

import shutil
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from tests.flows.webapp import PAGES, Handler

from athand import Athand

HARBOUR = "http://127.0.0.1:8000"
WALKS = Path(__file__).parents[1] / "src/athand/adapters/cli/demo_data/walks"


def open_ticket(browser):
    browser.describe_screen()
    browser.click(test_id="to-desk")
    browser.click(role="link", name="Ticket 9")
    browser.describe_screen()


def cancel_order(browser):
    browser.describe_screen()
    browser.type("mira", test_id="user-name")
    browser.type("four tulips in June", test_id="password")
    browser.click(test_id="log-in")
    browser.wait_for(test_id="nav-orders")
    browser.click(test_id="nav-orders")
    browser.click(test_id="order-17")
    browser.click(role="button", name="Cancel order")
    browser.describe_screen()


def record(walk, session, goal, page, flow_tag):
    with Athand(":memory:") as athand:
        where = {"url": f"{HARBOUR}/{page}", "app": "harbour", "git": {}}
        with athand.flows.open_browser(session=session, goal=goal, flow_tags=[flow_tag], **where) as browser:
            walk(browser)
        print(*athand.flows.export(WALKS, session), *athand.flows.summarize(session).actions, sep="\n  ")


def main():
    shutil.rmtree(WALKS, ignore_errors=True)
    server = ThreadingHTTPServer(("127.0.0.1", 8000), partial(Handler, directory=str(PAGES)))
    Thread(target=server.serve_forever, daemon=True).start()
    record(open_ticket, "open-ticket", "Open ticket 9 and read what it asks for", "index.html", "desk")
    record(cancel_order, "cancel-order", "Cancel order 17 for a customer", "login.html", "orders")
    server.shutdown()
    server.server_close()
    for path in (WALKS, *WALKS.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)  # an export is for its owner's eyes alone


if __name__ == "__main__":
    main()
