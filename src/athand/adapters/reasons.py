"""The reasons of a score in words: the names of its signals, and which of them are factors."""

from collections.abc import Iterator, Mapping
from typing import Any

LABELS = {
    "semantic": "meaning",
    "lexical": "keyword",
    "exact": "exact terms",
    "heading": "in headings",
    "definition": "in names",
    "path": "in path",
    "stem": "in file name",
    "named": "defines it",
    "document": "its document",
    "repetition": "same document",
    "scale": "common scale",
}
TIMES = "\N{MULTIPLICATION SIGN}"
_PARTS = ("keyword", "semantic", "author", "neighbours", "scale")  # summands of a score, never factors
_LEAST_PART = 0.005  # that two digits show
_LEAST_FACTOR = 0.02  # the least change by a factor that is worth a word


def is_factor(name: str, *, weight: float, calibrated: float) -> bool:
    """Whether a signal multiplies the score; the others add to it."""
    return name not in _PARTS and weight == calibrated


def describe_why(why: Mapping[str, Any]) -> str:
    """The reasons of a score in one short line: the parts, then the factors."""
    return ", ".join(_describe_signals(why["signals"]))


def _describe_signals(signals: Mapping[str, Any]) -> Iterator[str]:
    """Parts as what they were calibrated to, then factors; none without an effect, and not the common scale."""
    shown = {name: each for name, each in signals.items() if name != "scale"}
    factors = [name for name, each in shown.items() if is_factor(name, **_numbers(each))]
    for name, each in shown.items():
        if name not in factors and abs(each["contribution"]) >= _LEAST_PART:
            yield f"{LABELS.get(name, name)} {_fraction(each['calibrated'])}"
    for name in factors:
        if abs(shown[name]["weight"] - 1) >= _LEAST_FACTOR:
            yield f"{LABELS.get(name, name)} {TIMES}{_fraction(shown[name]['weight'])}"


def _numbers(signal: Mapping[str, Any]) -> dict[str, float]:
    return {"weight": signal["weight"], "calibrated": signal["calibrated"]}


def _fraction(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")
