import math

import numpy as np
import pytest

from athand.rank import (
    Factor,
    Part,
    bm25,
    calibrate_cosine,
    calibrate_keyword,
    clamp,
    explain,
    inverse_frequency,
    matched_words,
    modulate,
    order,
    prepare,
    totals,
)
from athand.text import join_terms, terms
from athand.types import Calibration, QueryWord, Statistics, Variant, Why


def make_word(word, frequency=1, worth=1.0, term=None):
    return QueryWord(word, (Variant(term or word, worth, frequency),))


def make_query(*words, passages=10, averages=(30.0,), weights=(1.0,)):
    return prepare(words, Statistics(passages, averages), weights)


def make_fields(*texts):
    return tuple(join_terms(terms(text)) for text in texts)


def test_rare_terms_are_more_telling_and_no_term_counts_against():
    assert inverse_frequency(100, 1) > inverse_frequency(100, 50) > inverse_frequency(100, 100) > 0


def test_a_passage_with_all_words_calibrates_to_one_and_one_without_to_zero():
    query = make_query(make_word("vpn"), make_word("token"), averages=(16.0,))
    scores = bm25([make_fields("vpn token vpn token"), make_fields("nothing here")], query)
    assert calibrate_keyword(scores, query).tolist() == [1.0, 0.0]


def test_an_unknown_word_lowers_the_score_of_what_lacks_it():
    known = make_query(make_word("vpn"))
    asked = make_query(make_word("vpn"), QueryWord("zzgrmpf"))
    fields = [make_fields("the vpn is down")]
    assert calibrate_keyword(bm25(fields, asked), asked)[0] < calibrate_keyword(bm25(fields, known), known)[0]


def test_a_word_counts_by_its_best_variant_not_by_their_sum():
    word = QueryWord("send", (Variant("send", 1.0, 2), Variant("transfer", 0.7, 2)))
    both, one = bm25([make_fields("send transfer"), make_fields("send whatever")], make_query(word))
    assert both == pytest.approx(one, rel=0.05)


def test_a_variant_is_worth_less_than_the_word():
    exact = bm25([make_fields("send")], make_query(make_word("send")))
    variant = bm25([make_fields("send")], make_query(make_word("sned", term="send", worth=0.7)))
    assert 0 < variant[0] < exact[0]


def test_a_match_in_a_heavier_field_and_in_a_shorter_text_is_worth_more():
    query = make_query(make_word("vpn"), averages=(20.0, 20.0), weights=(1.0, 0.5))
    heavy, light = bm25([make_fields("vpn now", "some text"), make_fields("some text", "vpn now")], query)
    short, long = bm25([make_fields("vpn now", ""), make_fields("vpn " + "padding " * 40, "")], query)
    assert heavy > light
    assert short > long


def test_words_are_not_counted_inside_other_words():
    assert bm25([make_fields("vpns unvpn")], make_query(make_word("npv"))).tolist() == [0.0]


def test_the_score_of_a_passage_does_not_depend_on_its_neighbours():
    query = make_query(make_word("vpn"), make_word("token"))
    passages = [make_fields("a vpn and a token"), make_fields("token token"), make_fields("vpn")]
    together = bm25(passages, query)
    assert together.tolist() == [bm25([each], query)[0] for each in passages]


def test_no_passages_and_no_words_are_fine():
    assert bm25([], make_query(make_word("vpn"))).tolist() == []
    empty = make_query()
    assert calibrate_keyword(bm25([make_fields("vpn")], empty), empty).tolist() == [0.0]


def test_matched_words_are_those_of_the_query():
    query = make_query(make_word("deploying", term="deploy"), make_word("vpn"))
    assert matched_words([make_fields("we deploy")], query) == [("deploying",)]


@pytest.mark.parametrize(("cosine", "meaning"), [(-1, 0), (0.1, 0), (0.4, 0.5), (0.7, 0.75), (1.0, 1.0)])
def test_cosines_mean_the_same_for_every_model(cosine, meaning):
    assert calibrate_cosine(np.array([cosine]), Calibration(0.1, 0.4))[0] == pytest.approx(meaning)


def test_calibration_keeps_the_order():
    cosines = np.linspace(-1, 1, 50)
    assert (np.diff(calibrate_cosine(cosines, Calibration(0.1, 0.4))) >= 0).all()


def test_the_parts_of_a_score_add_up_to_the_score():
    parts = {
        "keyword": Part(np.array([3.0, 1.0]), np.array([0.7, 0.1]), 0.6),
        "semantic": Part(np.array([0.5, 0.2]), np.array([0.6, 0.3]), 0.4),
    }
    for at, total in enumerate(totals(parts)):
        assert Why(explain(parts, at)).total == pytest.approx(total, abs=1e-9)


def test_multipliers_contribute_what_they_change():
    parts = {"keyword": Part(np.array([3.0]), np.array([0.8]), 0.5)}
    factors = {
        "salience": Factor(np.array([1.0]), modulate(np.array([1.0]))),
        "superseded": Factor(np.array([1.0]), np.array([0.5])),
    }
    why = Why(explain(parts, 0, factors))
    assert why.total == pytest.approx(totals(parts, factors)[0], abs=1e-9)
    assert why.total == pytest.approx(0.8 * 0.5 * 1.1 * 0.5, abs=1e-9)
    assert why.signals["salience"].contribution == pytest.approx(0.04)
    assert why.signals["superseded"].contribution == pytest.approx(-0.22)


def test_a_bounded_multiplier_changes_a_score_by_a_tenth_at_most():
    assert modulate(np.array([0.0, 0.5, 1.0])).tolist() == pytest.approx([0.9, 1.0, 1.1])


def test_equal_scores_are_ordered_by_recency_then_id():
    scores = np.array([0.5, 0.5, 0.5, 0.9])
    assert order(scores, [1, 2, 2, 0], ["a", "c", "b", "d"], 0.0) == [3, 2, 1, 0]


def test_hits_need_a_score_above_zero_and_not_below_the_least():
    scores = np.array([0.0, 0.2, 0.4])
    assert order(scores, [0, 0, 0], ["a", "b", "c"], 0.0) == [2, 1]
    assert order(scores, [0, 0, 0], ["a", "b", "c"], 0.3) == [2]


def test_shown_scores_are_between_zero_and_one():
    assert [clamp(value) for value in (-0.1, 0.5, 1.7)] == [0.0, 0.5, 1.0]


def test_why_reads_as_one_line():
    why = Why(explain({"keyword": Part(np.array([3.0]), np.array([0.7]), 0.6)}, 0), ("vpn",))
    assert str(why) == "0.42 = keyword +0.42 (vpn)"
    assert math.isclose(why.to_dict()["total"], 0.42)
