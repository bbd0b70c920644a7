from __future__ import annotations

import numpy as np

from packline.relevance.enough import enough_at


def test_one_packet_that_stands_out_does_not_end_the_filling_early():
    assert enough_at(np.array([1.0, 0.2, 0.2, 0.2, 0.2, 0.1])) < 0.3


def test_of_fewer_than_five_packets_all_lead():
    assert enough_at(np.array([0.5, 0.3]), share=0.5) == 0.2


def test_without_packets_nothing_is_needed():
    assert enough_at(np.zeros(0)) == 0
