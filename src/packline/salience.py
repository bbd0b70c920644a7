"""Salience: which sentences of a text matter for a question, together.

Sentences are few and short, so that rarity is counted within the text, and a sentence that only repeats what
a better one has said is worth less than one that matches another part of the question.
"""

from __future__ import annotations

import math
from collections import Counter as Tally
from collections.abc import Sequence
from heapq import heapify, heappop, heapreplace

from packline.relevance.words import is_gram, words

__all__ = ["ranked"]

_OPENING = 0.1  # of the best match
_OPENERS = 2
_REPEATS = 4  # from here on a word counts no less
_STEM = 5
_K1, _B = 1.2, 0.3


def ranked(sentences: Sequence[str], query: str) -> list[int]:
    """The places of `sentences`, best first; of those that do not match, the nearest to the best match first.

    The best is always the one that adds the most to those before it: a word of the question counts half as
    much each time that it has been there (the lazy greedy method: what a sentence adds can only fall). The
    first two, a title and what follows it, get a tenth of the best match on top.

    >>> ranked(["My pets", "It rains.", "Birds sing.", "Cats sleep all day."], "What do cats do?")
    [3, 0, 1, 2]
    """
    matches = _matches([words(sentence) for sentence in sentences], query)
    most = max((sum(found.values()) for found in matches.values()), default=0.0)
    opening = dict.fromkeys(range(min(_OPENERS, len(sentences))), _OPENING * most)
    seen: Tally[str] = Tally()

    def added(at: int) -> float:
        again = (weight * 0.5 ** min(seen[term], _REPEATS) for term, weight in matches.get(at, {}).items())
        return opening.get(at, 0.0) + sum(again)

    queue = [(-added(at), at) for at in sorted({*matches, *opening})]
    heapify(queue)
    order: dict[int, None] = {}
    while queue:
        value, at = queue[0]
        now = -added(at)
        if now > value:
            heapreplace(queue, (now, at))
            continue
        heappop(queue)
        order[at] = None
        seen.update(matches.get(at, {}).keys())
    best = next(iter(order))
    return list(order | dict.fromkeys(sorted(range(len(sentences)), key=lambda at: (abs(at - best), at))))


def _terms(found: Sequence[str]) -> list[str]:
    """Words by their first five characters, which stand for all of one stem; longer ones also whole."""
    return [*(word[:_STEM] for word in found), *(word for word in found if len(word) > _STEM)]


def _matches(texts: Sequence[Sequence[str]], query: str) -> dict[int, dict[str, float]]:
    """What each of the question's terms is worth in each of the sentences that have one.

    BM25 with k1 = 1.2 and b = 0.3 (a sentence is hardly worse for being long). Rarity is counted over the
    sentences of the text; it is squared, except in scripts without spaces, so that "what" and "did" weigh
    little.
    """
    asked = set(_terms(words(query)))
    counts = {at: Tally(term for term in _terms(found) if term in asked) for at, found in enumerate(texts)}
    holding = Tally(term for found in counts.values() for term in found)
    mean = sum(map(len, texts)) / len(texts) or 1.0
    most = math.log(2 * len(texts) + 2)

    def weight(term: str) -> float:
        rarity = math.log1p((len(texts) - holding[term] + 0.5) / (holding[term] + 0.5)) / most
        return rarity if is_gram(term) else rarity**2

    weights = {term: weight(term) for term in holding}
    return {
        at: {
            term: weights[term] * times / (times + _K1 * (1 - _B + _B * len(texts[at]) / mean))
            for term, times in found.items()
        }
        for at, found in counts.items()
        if found
    }
