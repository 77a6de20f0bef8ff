"""Embedding of queries, and of noise queries that no tool is for."""

from collections.abc import Sequence

from athand.embed import Embedder, unit_rows
from athand.text import tokenize
from athand.types import Vector

# The similarity of a catalogue to these queries is its noise level.
NOISE_QUERIES = (
    "why did the roman republic fall",
    "how do glaciers carve valleys",
    "the difference between baroque and classical sonatas",
    "what causes inflation in an open economy",
    "how whales navigate across oceans",
    "the grammar of old norse verbs",
    "who painted the ceiling of the chapel",
    "how bees decide where to build a hive",
    "the role of enzymes in digestion",
    "what did kant mean by the categorical imperative",
    "why is the sky dark at night",
    "how treaties ended the thirty years war",
    "the life cycle of a fern",
    "how earthquakes are located by their waves",
    "the plot of a tragedy by sophocles",
    "which metals expand most when heated",
    "origins of the silk road",
    "how coral reefs recover after storms",
    "what makes a poem a sonnet",
    "how vaccines train the immune system",
    "the structure of a viking longhouse",
    "why do leaves turn red in autumn",
    "how tides depend on the moon",
    "what was life like in a medieval monastery",
    "how courts interpret a constitution",
    "the migration of monarch butterflies",
    "why do cats purr",
    "how volcanoes form islands",
    "the economics of medieval guilds",
    "how children learn their first words",
    "the philosophy of the stoics",
    "how spiders spin their webs",
)


def embed_query(model: Embedder, text: str) -> Vector:
    """normalise(embed(text) + embed(content words without digits))."""
    both: Vector = unit_rows((model.embed_query(text) + model.embed_query(_content_words(text)))[None])[0]
    return both


def embed_noise_queries(model: Embedder) -> Sequence[Vector]:
    """The vectors of the noise queries, embedded in one batch."""
    rows = model.embed_passages([*NOISE_QUERIES, *map(_content_words, NOISE_QUERIES)])
    half = len(NOISE_QUERIES)
    return list(unit_rows(rows[:half] + rows[half:]))


def _content_words(text: str) -> str:
    words = [word for word in tokenize(text) if not any(letter.isdigit() for letter in word)]
    return " ".join(words) or text
