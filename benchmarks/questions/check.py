"""Whether the labelled questions fit the pinned sources: `python -m benchmarks.questions.check`."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.code_sources import fetch
from benchmarks.data import ROOT

FOLDER = Path(__file__).parent
CATEGORIES = {"semantic", "symbol", "architecture"}

Question = Mapping[str, Any]


def load(name: str) -> list[Question]:
    """The questions of one file: code, pages or own."""
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]


def faults_of_places(questions: list[Question], folders: Mapping[str, Path]) -> Iterator[str]:
    """Places that do not exist: a file that is not there, lines beyond its end."""
    for question in questions:
        for place in question["relevant"]:
            path = folders[question["repo"]] / place["path"]
            last = len(path.read_text("utf-8", "replace").splitlines()) if path.is_file() else 0
            if not 1 <= place.get("start_line", 1) <= place.get("end_line", last) <= last:
                yield f"{question['id']}: no such place {place}"


def faults_of_form(questions: list[Question]) -> Iterator[str]:
    """Doubles, parts and categories nobody knows, questions without an answer."""
    for field in ("id", "query"):
        doubles = [key for key, count in Counter(each[field] for each in questions).items() if count > 1]
        yield from (f"twice: {field} {key}" for key in doubles)
    for question in questions:
        if question["part"] not in ("tune", "report") or question.get("category", "semantic") not in CATEGORIES:
            yield f"{question['id']}: unknown part or category"


def faults_of_rules(questions: list[Question]) -> Iterator[str]:
    """Rules that name no file of this project, or are no regular expressions."""
    for question in questions:
        for pattern in question["relevant_patterns"]:
            re.compile(pattern, re.IGNORECASE)
        yield from (
            f"{question['id']}: nothing is at {glob}" for glob in question["relevant_paths"] if not any(ROOT.glob(glob))
        )


def main() -> None:
    folders, code, pages, own = fetch(), load("code"), load("pages"), load("own")
    faults = [*faults_of_places(code + pages, folders), *faults_of_form(code), *faults_of_form(pages)]
    faults += [*faults_of_form(own), *faults_of_rules(own)]
    for name, questions in (("code", code), ("pages", pages), ("own", own)):
        print(f"{name}: {len(questions)}", dict(Counter(each["part"] for each in questions)))
    print("\n".join(faults) or "All questions fit.")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
