"""A ranking is the same however little of it is looked at."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from packline.ranking import FIRST, best_first


@pytest.mark.parametrize("size", [0, 1, FIRST, FIRST + 1, 6 * FIRST])
@pytest.mark.parametrize("values", [1, 7, 1_000_000])
def test_places_come_best_first_and_equal_ones_in_their_order(size: int, values: int):
    scores = np.random.default_rng(3).integers(0, values, size) / values

    ranked = list(best_first(scores, np.arange(size)))

    assert ranked == np.argsort(-scores, kind="stable").tolist()


def test_only_the_places_asked_for_are_ranked():
    scores = np.linspace(0, 1, 4 * FIRST)

    ranked = best_first(scores, np.flatnonzero(scores < 0.5))

    assert list(islice(ranked, 3)) == [2 * FIRST - 1, 2 * FIRST - 2, 2 * FIRST - 3]
    assert sum(1 for _ in ranked) == 2 * FIRST - 3
