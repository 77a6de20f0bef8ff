"""How often all tools are found for two wishes in one sentence: pairs of real requests, joined by "and" or "then".

`python -m benchmarks.wishes` shows the half that was chosen on, `python -m benchmarks.wishes report` the other.
"""

import random
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing

from athand import Athand, Settings
from benchmarks.tables import table
from benchmarks.tool_sets import SETS, Request, is_for_reporting, is_for_tuning, requests_of
from benchmarks.tune_tools import filled

PAIRS = 120
SEED = 7
LONGEST = 16  # words of each of the two requests
MOST = 300
DEEP = 10
_JOINTS = (" and ", ", then ", " and also ", ", and then ")
_SEVERAL = re.compile(r"[.?!;]\s+\S")


def pairs(requests: Sequence[Request]) -> Iterator[Request]:
    """Two short requests in one sentence, each of which other tools serve."""
    short = [each for each in requests if len(each.text.split()) <= LONGEST and not _SEVERAL.search(each.text)]
    chance = random.Random(SEED)
    for number in range(PAIRS):
        one, other = chance.sample(short, 2)
        if not one.tools & other.tools:
            first, second = one.text.strip().rstrip(".?!"), other.text.strip()
            joint = _JOINTS[number % len(_JOINTS)]
            yield Request(first + joint + second[0].lower() + second[1:], one.tools | other.tools)


def row(athand: Athand, requests: Sequence[Request]) -> list[str]:
    """How many requests get all of their tools among ten, and the share of the tools among five."""
    every, among_five = 0, 0.0
    for request in requests:
        names = [hit.item.name for hit in athand.tools.search(request.text, limit=DEEP, threshold=0)]
        every += request.tools <= set(names)
        among_five += len(request.tools.intersection(names[:5])) / len(request.tools)
    return [f"{every / len(requests):.3f}", f"{among_five / len(requests):.3f}"]


def main() -> None:
    is_wanted = is_for_reporting if sys.argv[1:] == ["report"] else is_for_tuning
    rows = []
    for name in SETS:
        with closing(filled(Athand(":memory:", settings=Settings()), name)) as athand:
            requests = requests_of(name, is_wanted)[:MOST]
            rows += [[f"{name}, as it is", *row(athand, requests)]]
            rows += [[f"{name}, two wishes", *row(athand, list(pairs(requests)))]]
    print(table(["requests", "all in 10", "R@5"], rows))


if __name__ == "__main__":
    main()
