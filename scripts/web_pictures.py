"""Makes the pictures of the web page from the demo. Run: python -m scripts.web_pictures"""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

from athand.flows.browser.chromium import find_executable

DOCS = Path(__file__).parents[1] / "docs"
WINDOW = {"width": 1100, "height": 720}
QUESTION = "start+a+branch+for+ticket+9"
VIEWS = {
    "web-light": ("light", f"/ui/search?q={QUESTION}", ".hit"),
    "web-dark": ("dark", f"/ui/search?q={QUESTION}", ".hit"),
    "web-memories": ("light", "/ui/memories?project=harbour", ".memory"),
    "web-flows": ("dark", "/ui/flows/cancel-order#7", ".strip"),
}


@contextmanager
def serving(folder):
    """The demo's store, served; its address and a link that logs in."""
    command = [sys.executable, "-m", "athand"]
    known = os.environ | {"ATHAND_HOME": f"{folder}/demo"}
    subprocess.run([*command, "demo", "--no-server", "--data-dir", folder], check=True, stdout=subprocess.DEVNULL)
    serve = [*command, "serve", "--json", "--port=0"]
    with subprocess.Popen(serve, env=known, stdout=subprocess.PIPE, cwd=folder) as process:
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


def launch(chromium):
    return chromium.launch(executable_path=find_executable(None, chromium.executable_path))


def main():
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(folder) as told,
        sync_playwright() as playwright,
        launch(playwright.chromium) as browser,
    ):
        page = browser.new_page(viewport=WINDOW)
        page.goto(told["page"])
        page.wait_for_selector("header")
        for name, (scheme, path, ready) in VIEWS.items():
            page.emulate_media(color_scheme=scheme)
            page.goto(told["url"] + path)
            page.wait_for_selector(ready)
            page.wait_for_selector(".light.on")
            page.evaluate("document.activeElement.blur()")
            page.screenshot(path=DOCS / f"{name}.png")
            print(DOCS / f"{name}.png")


if __name__ == "__main__":
    main()
