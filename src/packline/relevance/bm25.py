"""BM25 as it measures best here: squared rarity, and half of the score for words that only begin alike.

    score = sum over the question's words of rarity * tf / (tf + k1 * (1 - b + b * length / mean length))

with k1 = 1.5 and b = 0.6. Rarity is (idf / largest idf) squared, as in the cosine of two tf-idf vectors, so
that words which stand everywhere weigh next to nothing. Function words ("which", "the") weigh a tenth beside
others, since a small pool does not show how common they are. Half of the score counts exact words, half
counts words with the same first five characters, a stemmer for any language ("painting" finds "painted").
Numbers of a version, a date or an address ("2.3.1") count once more for each two that stand side by side.
Where a question has several sentences or clauses, the words of each count as much as the text that has most
of it has of it, beside the one that is found best: how to answer, or what went before, stands in no text.
The characters and pairs that stand for words in scripts without spaces keep their plain idf: half of all
pairs straddle two words, so that their rarity says less.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import regex
from numpy.typing import NDArray

from packline.relevance.function_words import function_words
from packline.relevance.phrases import texts_with
from packline.relevance.pool import Pool
from packline.relevance.rarity import rarity
from packline.relevance.words import Counts, WordIndex, is_gram, words
from packline.sentences import sentences

__all__ = ["Matches", "bm25"]

K1, B = 1.5, 0.6
PREFIX = 5
FEW = 10
GRAMMAR = 0.1

MANY, OFTEN = 1_000, 0.1
"""In so many texts, a function word that occurs in more than this share of them is not looked for."""

TELLING = 2
"""Words beside function words by which a clause of a question says something by itself."""

_BETWEEN_CLAUSES = regex.compile(r"[:;]\s|[：；]")
_CODE = regex.compile(r"\p{N}+(?:[.:/_-]\p{N}+)+")

Weights: TypeAlias = NDArray[np.float64]


class Matches(NamedTuple):
    """What the words of a question find.

    Attributes:
        scores: One for each text, 0 where no word is found.
        share: Of the question's words, weighed by rarity, the share that the best text has, in [0, 1]; of
            several sentences or clauses, that of the one that is found best.
    """

    scores: Weights
    share: float


def bm25(question: str, pool: Pool) -> Matches:
    """Score every text of the pool; a word that occurs twice in the question counts once."""
    index = pool.words
    asked = _asked(question, index)
    if not asked or not len(index):
        return Matches(np.zeros(len(index)), 0.0)
    lengths = index.lengths
    norm: Weights = (K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0))).astype(np.float64)
    stems: dict[str, list[str]] = {}
    for word in asked:
        stems.setdefault(_stem(word), []).append(word)
    alike = [[*dict.fromkeys([*held, *_words_of(stem, index)])] for stem, held in stems.items()]
    codes, together = _codes(question, index)
    exact = _joined(index.counts([[word] for word in asked]), together, len(asked))
    found = _joined(index.counts(alike), together, len(stems))
    of_word, _ = _weights(exact, [*asked, *codes], len(index))
    of_stem, of_asked = _weights(found, [*stems, *codes], len(index))
    places = {stem: place for place, stem in enumerate(stems)}
    counts, share = _counting(question, places, found, of_asked)
    of_word *= counts[[*(places[_stem(word)] for word in asked), *range(len(stems), len(counts))]]
    by_word, by_stem = _scores(exact, of_word, norm), _scores(found, of_stem * counts, norm)
    return Matches((by_word + by_stem) / 2, share)


def _joined(first: Counts, second: Counts, groups: int) -> Counts:
    """Both, the groups of the second after the `groups` of the first."""
    return Counts(
        *map(np.concatenate, zip(first, second._replace(groups=second.groups + groups), strict=True))
    )


def _asked(question: str, index: WordIndex) -> list[str]:
    """The words of a question, each once, without function words that stand too often to tell anything."""
    asked = list(dict.fromkeys(words(question)))
    often = function_words(asked) if len(index) >= MANY else frozenset[str]()
    telling = [word for word in asked if word not in often or not _stands_often(word, index)]
    return telling or asked


def _stands_often(word: str, index: WordIndex) -> bool:
    number = index.number(word)
    return number is not None and index.occurrences[number] > OFTEN * len(index)


def _codes(question: str, index: WordIndex) -> tuple[list[str], Counts]:
    """Neighbouring numbers of versions, dates and addresses in the question, and which texts have them so.

    Returns:
        The pairs, such as "2.3" and "3.1" of "2.3.1", and a count of 1 where a text has one.
    """
    pairs: dict[str, tuple[int, int]] = {}
    for code in _CODE.findall(question):
        for pair in pairwise(words(code)):
            first, second = map(index.number, pair)
            if first is not None and second is not None:
                pairs[".".join(pair)] = first, second
    texts, held = texts_with(list(pairs.values()), index)
    return list(pairs), Counts(texts, held, np.ones_like(held))


def _counting(
    question: str, places: Mapping[str, int], found: Counts, weight: Weights
) -> tuple[Weights, float]:
    """How much each word counts, and the share of what is asked that the best text has.

    The words of a sentence or clause count as much as the text that has most of it has of it, as a share of
    the same of the clause that is found best; a word of several as in the best of them, and others in full.
    """
    counts = np.ones(len(weight))
    clauses = _clauses(question, places)
    shares = [_share(found, weight, clause) for clause in clauses]
    best = max(shares, default=0.0)
    if best > 0:
        counts[[place for clause in clauses for place in clause]] = 0.0
        for clause, share in zip(clauses, shares, strict=True):
            counts[clause] = np.maximum(counts[clause], share / best)
    return counts, max(best, _share(found, weight, [*range(len(weight))]))


def _clauses(question: str, places: Mapping[str, int]) -> list[list[int]]:
    """The stems, by their places, of each sentence or clause that says something by itself; of several."""
    whole = [question[start:end] for start, end in sentences(question)]
    parts = [frozenset(words(part)) for sentence in whole for part in _BETWEEN_CLAUSES.split(sentence)]
    telling = [{*map(_stem, part)} for part in parts if len(part - function_words(part)) >= TELLING]
    known = [sorted(places[stem] for stem in clause if stem in places) for clause in telling]
    return [clause for clause in known if clause] if len(parts) > 1 else []


def _share(found: Counts, weight: Weights, clause: list[int]) -> float:
    """Of the weight of some words, the share that the best text has, in [0, 1]."""
    first, end = np.searchsorted(found.groups, clause), np.searchsorted(found.groups, clause, side="right")
    texts = np.concatenate([found.texts[start:stop] for start, stop in zip(first, end, strict=True)])
    has = np.bincount(texts, np.repeat(weight[clause], end - first), minlength=1)
    return float(min(has.max() / weight[clause].sum(), 1.0))


def _weights(found: Counts, names: list[str], texts: int) -> tuple[Weights, Weights]:
    """What each word weighs in a score, and what it weighs of all that is asked."""
    containing = np.bincount(found.groups, minlength=len(names))
    weight = rarity(containing, texts)
    weight = np.where([is_gram(name) for name in names], weight, weight**2)
    said = _said(names, np.where(containing > 0, weight, 0.0))
    weight = weight * said
    # A few texts do not show what is rare in a language: the fewer, the more all words count alike.
    return weight, (texts * weight + FEW * said) / (texts + FEW)


def _scores(found: Counts, weight: Weights, norm: Weights) -> Weights:
    """The score of each text."""
    gained = found.counts / (found.counts + norm[found.texts]) * weight[found.groups]
    scores: Weights = np.bincount(found.texts, gained, minlength=len(norm)).astype(np.float64)
    return scores


def _said(names: list[str], found: Weights) -> Weights:
    """What words count beside their rarity: a function word a tenth of the weightiest other that is found."""
    grammar = function_words(names)
    others = np.array([name not in grammar for name in names])
    if not others.any():  # "who was it": then these are all there is to go by
        return np.ones(len(names))
    return np.where(others, 1.0, GRAMMAR * (found[others].max() or 1.0))


def _stem(word: str) -> str:
    return word if is_gram(word) or word.isdigit() else word[:PREFIX]


def _words_of(stem: str, index: WordIndex) -> list[str]:
    if len(stem) < PREFIX or is_gram(stem) or stem.isdigit():
        return [stem]
    return index.starting_with(stem)
