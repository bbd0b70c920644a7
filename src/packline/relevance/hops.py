"""Hops: passages that the question names, and the second hop to those that the best passages name.

The second passage of a two-step question ("Which office did the actress of Corliss hold?") resembles the
first one, not the question; but the first one mentions it by its title, or names somebody whom both name.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
from numpy.typing import NDArray

from packline.ranking import best_first
from packline.relevance.phrases import texts_with
from packline.relevance.pool import Pool
from packline.relevance.rarity import rarity
from packline.relevance.words import words

__all__ = ["to_linked", "to_titled"]

LEADERS = 8
"""Passages that a second hop starts from."""

COMMON, FEW = 0.03, 2
"""A name in more than this share of the texts, and in more than `FEW`, tells nothing."""

SMALL = 10
"""Texts of a pool in which a name tells half: few texts do not show how common it is."""

IN_QUESTION, IN_PASSAGE = 0.9, 0.5
"""Shares of a title's words, weighed by rarity, from which on it is named."""


def to_titled(
    question: str, scores: NDArray[np.float64], pool: Pool, *, titled: float
) -> NDArray[np.float64]:
    """The scores, and `titled` of the best score for passages whose title the question has."""
    titles = pool.titles
    if not titled or not len(titles.packets):
        return scores
    asked = pool.words.known(words(question))
    spread = scores.copy()
    spread[titles.packets] += titled * scores.max() * titles.named(asked, least=IN_QUESTION)
    return spread


def to_linked(
    question: str, scores: NDArray[np.float64], pool: Pool, *, linked: float, shared: float, onward: float
) -> NDArray[np.float64]:
    """The scores, and what packets gain from the `LEADERS` best ones, and `onward` of what they gain then.

    A leader gives `score * (score / best score) ** 2`, times `linked` to those whose title it mentions, and
    times `shared` to those that share a name with it; of several leaders the one that gives most counts.
    """
    if not (linked or shared) or scores.max(initial=0.0) <= 0:
        return scores
    asked = set(pool.words.known(words(question)))
    everywhere = np.arange(len(pool))

    def after_hop(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        leaders = np.fromiter(islice(best_first(scores, everywhere), LEADERS), np.intp)
        strengths = scores[leaders] * (scores[leaders] / scores[leaders[0]]) ** 2
        by_title = _by_title(leaders, linked * strengths, pool, besides=asked)
        return scores + by_title + _by_name(leaders, shared * strengths, pool, besides=asked)

    once = after_hop(scores)
    return once + onward * (after_hop(once) - once) if onward else once


def _by_title(
    leaders: NDArray[np.intp], strengths: NDArray[np.float64], pool: Pool, *, besides: set[int]
) -> NDArray[np.float64]:
    """The most that a leader gives for a title that it mentions.

    Not for one that is a part of its own title and of the question, the words `besides`: asked about "Night
    Train", that film mentions neither "Night" nor "Train".
    """
    titles, index = pool.titles, pool.words
    gained = np.zeros(len(pool))
    if not len(titles.packets):
        return gained
    named = titles.named(list(besides), least=IN_QUESTION) > 0
    for leader, strength in zip(leaders, strengths, strict=True):
        own = index.numbers[index.starts[leader] : index.starts[leader + 1]]
        given = strength * titles.named(own, least=IN_PASSAGE)
        given[(titles.packets == leader) | (titles.within(leader) & named)] = 0.0
        gained[titles.packets] = np.maximum(gained[titles.packets], given)
    return gained


def _by_name(
    leaders: NDArray[np.intp], strengths: NDArray[np.float64], pool: Pool, *, besides: set[int]
) -> NDArray[np.float64]:
    """The most that a leader gives for a name that both mention, by rarity; words `besides` are no names."""
    found = [pool.names(leader) for leader in leaders.tolist()]
    names = {
        name: place for place, name in enumerate(dict.fromkeys(name for named in found for name in named))
    }
    texts, held = texts_with(list(names), pool.words)
    containing = np.bincount(held, minlength=len(names))
    telling = rarity(containing, len(pool)) * len(pool) / (len(pool) + SMALL)
    telling[containing > max(FEW, COMMON * len(pool))] = 0.0
    telling[[place for name, place in names.items() if besides.issuperset(name)]] = 0.0
    gained = np.zeros(len(pool))
    for leader, strength, named in zip(leaders, strengths, found, strict=True):
        given = np.zeros(len(names))
        given[[names[name] for name in named]] = list(named.values())
        given *= strength * telling
        elsewhere = texts != leader
        np.maximum.at(gained, texts[elsewhere], given[held[elsewhere]])
    return gained
