"""BM25 as it measures best here: squared rarity, and half of the score for words that only begin alike.

    score = sum over the question's words of rarity * tf / (tf + k1 * (1 - b + b * length / mean length))

with k1 = 1.5 and b = 0.6. Rarity is (idf / largest idf) squared, as in the cosine of two tf-idf vectors, so
that words which stand everywhere weigh next to nothing. Function words ("which", "the") weigh a tenth beside
others, since a small pool does not show how common they are. Half of the score counts exact words, half
counts words with the same first five characters, a stemmer for any language ("painting" finds "painted").
The characters and pairs that stand for words in scripts without spaces keep their plain idf: half of all
pairs straddle two words, so that their rarity says less.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from packline.relevance.function_words import function_words
from packline.relevance.pool import Pool
from packline.relevance.rarity import rarity
from packline.relevance.words import WordIndex, is_gram, words

__all__ = ["Matches", "bm25"]

K1, B = 1.5, 0.6
PREFIX = 5
FEW = 10
GRAMMAR = 0.1

Weights: TypeAlias = NDArray[np.float64]


class Matches(NamedTuple):
    """What the words of a question find.

    Attributes:
        scores: One for each text, 0 where no word is found.
        share: Of the question's words, weighed by rarity, the share that the best text has, in [0, 1].
    """

    scores: Weights
    share: float


def bm25(question: str, pool: Pool) -> Matches:
    """Score every text of the pool; a word that occurs twice in the question counts once."""
    index = pool.words
    asked = list(dict.fromkeys(words(question)))
    if not asked or not len(index):
        return Matches(np.zeros(len(index)), 0.0)
    lengths = index.lengths
    norm: Weights = (K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0))).astype(np.float64)
    stems = [_stem(word) for word in asked]
    kinds = list(dict.fromkeys(stems))
    others = [[word for word in _words_of(stem, index) if word not in asked] for stem in kinds]
    counts = index.counts([*([word] for word in asked), *others])
    exact = counts[:, : len(asked)]
    alike = counts[:, len(asked) :]
    for place, stem in enumerate(stems):
        alike[:, kinds.index(stem)] += exact[:, place]
    by_word, _ = _weighed(exact, asked, norm)
    by_stem, share = _weighed(alike, kinds, norm)
    return Matches((by_word + by_stem) / 2, share)


def _weighed(counts: NDArray[np.float32], names: list[str], norm: Weights) -> tuple[Weights, float]:
    texts = len(counts)
    weight = rarity(np.count_nonzero(counts, axis=0), texts)
    weight = np.where([is_gram(name) for name in names], weight, weight**2)
    grammar = function_words(names)
    said = np.array([GRAMMAR if name in grammar else 1.0 for name in names])
    if (said == GRAMMAR).all():  # "who was it": then these are all there is to go by
        said[:] = 1.0
    weight = weight * said
    found = np.flatnonzero(counts.any(axis=1))
    tf = counts[found]
    scores = np.zeros(texts)
    scores[found] = (tf / (tf + norm[found, None])) @ weight
    # A few texts do not show what is rare in a language: the fewer, the more all words count alike.
    alike = (texts * weight + FEW * said) / (texts + FEW)
    share = ((tf > 0) @ alike).max(initial=0.0) / alike.sum()
    return scores, float(min(share, 1.0))


def _stem(word: str) -> str:
    return word if is_gram(word) or word.isdigit() else word[:PREFIX]


def _words_of(stem: str, index: WordIndex) -> list[str]:
    if len(stem) < PREFIX or is_gram(stem) or stem.isdigit():
        return [stem]
    return index.starting_with(stem)
