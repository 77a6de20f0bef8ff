"""How long a look at a page takes: our snapshot beside asking element by element, in the same browser.

Run: python -m benchmarks.flows_observe
"""

import asyncio
import statistics
import time

from athand.flows.browser.model import LaunchOptions
from athand.flows.browser.process import BrowserProcess
from athand.flows.browser.snapshot import capture_snapshot
from athand.flows.profiles import Profiles

ELEMENTS = 150
ROUNDS = 15
ROWS = "".join(
    f'<div class="row"><span>Row {n}</span> <button data-testid="row-{n}" {"hidden" if n % 10 == 9 else ""}>'
    f"Choose {n}</button></div>"
    for n in range(ELEMENTS)
)
PAGE = f"<!doctype html><title>Rows</title><main><h1>Rows</h1>{ROWS}</main>"


def main() -> dict[str, float]:
    process = BrowserProcess(LaunchOptions(), Profiles().get("default"))
    try:
        process.start()
        figures = process.run(measure, 300)
    finally:
        process.close()
    for name, value in figures.items():
        print(f"{name:32} {value:10.1f}")
    return figures


async def measure(context):
    await context.page.set_content(PAGE)
    session, profile = await context.cdp_session(), context.profile
    ours = await timed(lambda: capture_snapshot(session, profile), ROUNDS)
    theirs = await timed(lambda: one_by_one(context.page, profile.test_id_attribute), 3)
    seen = (await capture_snapshot(session, profile)).observation.test_ids
    asked = await one_by_one(context.page, profile.test_id_attribute)
    same = [(each["testId"], each["tag"], each["visible"]) for each in seen] == [each[:3] for each in asked]
    if not same or len(seen) != ELEMENTS:
        raise RuntimeError("The two ways do not see the same elements.")
    return {
        "elements": float(len(seen)),
        "snapshot, median ms": statistics.median(ours),
        "snapshot, best ms": min(ours),
        "element by element, median ms": statistics.median(theirs),
        "element by element, best ms": min(theirs),
        "times faster": statistics.median(theirs) / statistics.median(ours),
    }


async def one_by_one(page, attribute):
    """What a tool without snapshots does: several questions for every element."""
    return [
        (
            await element.get_attribute(attribute),
            await element.evaluate("element => element.tagName.toLowerCase()"),
            await element.is_visible(),
            await element.text_content(),
        )
        for element in await page.locator(f"[{attribute}]").all()
    ]


async def timed(work, rounds):
    taken = []
    for _ in range(rounds):
        begun = time.perf_counter()
        await work()
        taken.append((time.perf_counter() - begun) * 1000)
        await asyncio.sleep(0.02)
    return taken


if __name__ == "__main__":
    main()
