import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from athand.documents.chunking import chunk_text
from athand.documents.extract import Extract, FileKind
from athand.documents.keyphrases import choose_phrases, phrase_candidates
from athand.text import split_identifier, stem

MARKDOWN, PYTHON = FileKind("markdown"), FileKind("code", "python")
PAGE = """---
title: Horizontal Pod Autoscaling
reviewers: [somebody, somebody, somebody]
---

A HorizontalPodAutoscaler scales a workload. Autoscaling of pods needs a metrics server; the metrics server is deployed
with the cluster. See https://example.com/metrics/server for the metrics server. Metrics of pods are read often.

{{< note >}}The note shortcode is not a phrase, nor is <b class="decorated">markup</b>.{{< /note >}}

## Scaling on memory usage

Memory usage is measured by the kubelet. When memory usage grows, the workload is scaled. In Kubernetes the kubelet
reports memory usage. The commit deadbeef12345678 and the year 2024 and 2024 and 2024 say nothing.

```yaml
apiVersion: autoscaling/v2
```
"""


def found(text, kind=MARKDOWN, most=24):
    return phrase_candidates(text, chunk_text(Extract(text), kind), kind, most)


def phrases(text, kind=MARKDOWN):
    return [phrase for phrase, _ in found(text, kind)]


def test_phrases_of_headings_and_often_said_ones_come_first():
    offered = phrases(PAGE)
    assert {"memory usage", "metrics server", "kubelet", "workload"} <= set(offered)
    assert offered.index("memory usage") < offered.index("workload")
    assert any("horizontal pod" in phrase.lower() for phrase in offered)


def test_numbers_addresses_markup_and_front_matter_are_no_phrases():
    said = " ".join(phrases(PAGE)).lower().split()
    assert not {"2024", "https", "deadbeef12345678", "decorated", "somebody", "apiversion", "class"} & set(said)


def test_a_phrase_has_no_small_word_at_its_ends_and_does_not_cross_a_sentence():
    offered = phrases("The art of war. War is a thing. The art of war! War, peace. War, peace.\n" * 3)
    assert not any(
        phrase.split()[0] in {"the", "of", "is"} or phrase.split()[-1] in {"the", "of"} for phrase in offered
    )
    assert "war war" not in [phrase.lower() for phrase in offered]
    assert "war peace" not in [phrase.lower() for phrase in offered]


def test_words_are_written_as_they_mostly_are():
    offered = phrases(
        "Kubernetes runs pods. Pods of Kubernetes. The pods of HTTP servers. HTTP pods in Kubernetes.\n" * 2
    )
    assert {"Kubernetes", "HTTP", "pods"} <= set(" ".join(offered).split())
    assert "kubernetes" not in " ".join(offered)


def test_code_offers_its_definitions_as_they_are_and_phrases_of_its_comments():
    text = '''"""Folder indexes: reads every folder index of a store."""


class FolderIndex:
    """A folder index knows its files."""

    def parse_config(self, config_path):
        # The folder index is parsed once.
        return read(config_path)
'''
    offered = phrases(text, PYTHON)
    assert {"FolderIndex", "parse_config", "config_path", "folder index"} <= set(offered)
    assert "return" not in offered and "self" not in offered


def test_what_is_rare_elsewhere_is_chosen_first():
    offered = [("common words", 1.0), ("rare find", 0.8), ("plain", 0.9)]
    assert choose_phrases(offered, lambda term: 5.0 if term in {"rare", "find"} else 1.0)[0] == "rare find"


def test_no_chosen_phrase_is_part_of_another_or_its_inflection():
    offered = [("pod", 1.0), ("pods", 0.9), ("pod security policy", 0.8), ("policies", 0.7), ("PodSecurityPolicy", 0.6)]
    assert choose_phrases(offered, lambda term: 1.0) == ["pod security policy"]


def test_at_most_so_many_are_chosen():
    offered = [(f"{letter * 4}", 1.0) for letter in "abcdefghijkl"]
    assert len(choose_phrases(offered, lambda term: 1.0)) == 7
    assert len(choose_phrases(offered, lambda term: 1.0, 3)) == 3
    assert choose_phrases([], lambda term: 1.0) == []


@given(st.text(max_size=600), st.sampled_from([MARKDOWN, PYTHON, FileKind("text"), FileKind("data", "json")]))
@settings(max_examples=150)
def test_any_text_has_candidates_that_can_be_chosen_from(text, kind):
    offered = found(text, kind)
    assert offered == found(text, kind)
    assert all(phrase.strip() and weight > 0 for phrase, weight in offered)
    chosen = choose_phrases(offered, lambda term: 1.0)
    stems = [tuple(stem(word) for word in split_identifier(phrase)) for phrase in chosen]
    assert len(set(stems)) == len(stems) <= 7


@pytest.mark.parametrize(
    "part",
    ["x", "word ", "{{ ", "<a ", "/a", "```\n", "'''", "a_", "aB", "](", "http://", "é", "\n", "a-", "a.", "-", "# "],
)
@pytest.mark.parametrize("kind", [MARKDOWN, PYTHON], ids=["markdown", "code"])
def test_a_big_text_takes_little_time(part, kind):
    text = part * (100_000 // len(part))
    pieces = chunk_text(Extract(text), kind)
    began = time.process_time()
    phrase_candidates(text, pieces, kind)
    assert time.process_time() - began < 2
