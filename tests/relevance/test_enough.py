from __future__ import annotations

import numpy as np

from packline.relevance.enough import beyond_enough

ALIKE = np.full(3, 80)


def test_what_scores_less_than_a_share_of_the_best_is_beyond_enough():
    assert beyond_enough(np.array([0.8, 0.41, 0.39]), ALIKE, share=0.5).tolist() == [False, False, True]


def test_a_long_packet_must_score_more_than_a_short_one():
    scores, lengths = np.array([0.8, 0.41, 0.41]), np.array([80, 20, 800])

    assert beyond_enough(scores, lengths, share=0.5).tolist() == [False, False, True]


def test_the_best_packet_is_never_beyond_enough_however_long_the_others_are():
    assert not beyond_enough(np.array([0.8, 0.1]), np.array([80, 800]), share=1.0)[0]


def test_where_nothing_is_relevant_everything_is_as_good_as_the_best():
    assert not beyond_enough(np.zeros(3), ALIKE, share=0.5).any()


def test_without_packets_nothing_is_beyond():
    assert len(beyond_enough(np.zeros(0), np.zeros(0, np.int64), share=0.5)) == 0
