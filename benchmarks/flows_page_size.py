"""How long the description of a page is: all elements as lists, Playwright's own snapshot, and our tree.

Run: python -m benchmarks.flows_page_size
"""

import json
import tempfile
from pathlib import Path

from tests.flows.pages import write_pages

from athand import Athand


def main() -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder, Athand(":memory:") as athand:
        files = write_pages(Path(folder))
        with athand.flows.open_browser(git={}) as browser:
            measured = {name: measure(browser, file) for name, file in files.items()}
    print(f"{'':20} {'lists':>8} {'Playwright':>10} {'tree':>8} {'ratio':>6}")
    for name, each in measured.items():
        print(f"{name:20} {each['lists']:8} {each['playwright']:10} {each['tree']:8} {each['ratio']:6.2f}")
    return measured


def measure(browser, file):
    """The characters of each form of a page."""
    browser.navigate(file.as_uri())
    described = browser.describe_screen()
    seen = described.observation
    lists = len(json.dumps({"test_ids": seen.test_ids, "a11y": seen.a11y}, ensure_ascii=False))
    own = len(browser._process.run(lambda context: context.page.locator("body").aria_snapshot(), 60))
    tree = len(described.page)
    return {"lists": lists, "playwright": own, "tree": tree, "ratio": tree / own}


if __name__ == "__main__":
    main()
