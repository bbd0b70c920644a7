"""Difference: whether two texts differ in their form only, or in what they state.

Which words turn a statement (enabled, disabled; before, after; anna, peter) no list can hold. So any words in
the place of others state something else. What republished texts really have is more or less of what stands
beside the text: titles, sources, captions, adverts, a cut-off end. Only a long text, which hardly repeats
another one by chance, may be edited in passing: it goes by its wording, its facts and its negations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from packline.alignment import Gap, gaps
from packline.wording import Wording, is_han, is_numeral, is_spaceless

__all__ = ["is_equal", "says"]

LONG = 250
"""Runs of words from which on a text is long."""

MUCH_LONGER = 4 / 3
"""A text that is more than so many times longer has something else to say, and may say it amid the other."""

# Words that turn a statement into another one though much else is added: negations, written-out numbers.
_PIVOTAL = """
    no not never none neither nor without cannot nicht kein keine nie ne pas jamais sans non nunca sin jamás
    не нет не ни без 不 没 沒 未 无 無 非
    勿 别 莫 否 免 拒 禁 停 止 取 消 负 反 副 前 原 元 旧 子 准 代 假 疑 仅 只
    नहीं लا ليس لم لن
    one two three four five six seven eight nine ten eleven twelve hundred thousand million billion
"""
_JOINED_PIVOTS = ("ない", "なかっ", "ません", "ไม่", "ບໍ່")  # in scripts whose words are not told apart
_PIVOTS = frozenset(_PIVOTAL.split())
# Put in or left out, these change nothing.
_GLUE = frozenset(["the", "a", "an", "that", "of", "据", "的", "了", "着", "之", "且", "而"])
_ASIDE = 5  # words; fewer that one text has inside of a sentence may turn what it says
_SHORT_ASIDE = 3  # the same in scripts without spaces, for what the longer text has more
_PASSAGE = 9  # characters, in scripts without spaces: a passage of its own, such as a caption
_MARGIN = 8  # the part of a text at its head and at its end where titles, sources and notices stand


def says(kept: Wording, new: Wording) -> bool:
    """Whether `kept` says all that `new` says, so that `new` may go without loss.

    >>> from packline.wording import read
    >>> one, other = (read(text, text.lower()) for text in ("Rates rose.", "Rates fell."))
    >>> says(one, one), says(one, other)
    (True, False)
    """
    return (
        all(before in kept.links or after in kept.links for before, after in new.facts)
        and len(new.runs - kept.runs) <= new.spare
        and (len(kept.words) <= MUCH_LONGER * len(new.words) or _joined(new) in _joined(kept))
        and all(
            not difference.negates if len(new.runs) > LONG else difference.is_form
            for difference in (_Difference(gap, new, kept) for gap in gaps(new.words, kept.words))
        )
    )


def _joined(text: Wording) -> str:
    """The text without white space, as which it is found within another one."""
    return text.plain.replace(" ", "")


def is_equal(kept: Wording, new: Wording) -> bool:
    """Whether two texts with the same `plain` are one: "US" is not "us", but for lines of capitals."""
    return all(
        one == other or at in kept.loud or at in new.loud
        for at, (one, other) in enumerate(zip(kept.words, new.words, strict=False))
    )


@dataclass(frozen=True, slots=True)
class _Difference:
    """A place where `new` and `kept` go apart."""

    gap: Gap
    new: Wording
    kept: Wording

    @property
    def _words(self) -> tuple[Sequence[str], Sequence[str]]:
        """What stands here in the new text, and there in the kept one."""
        gap = self.gap
        return self.new.words[gap.start : gap.end], self.kept.words[gap.other_start : gap.other_end]

    @property
    def negates(self) -> bool:
        """Whether a few words here negate what one of the two states."""
        here, there = self._words
        return max(len(here), len(there)) <= _SHORT_ASIDE and _turns(here) != _turns(there)

    @property
    def is_form(self) -> bool:
        """Whether the kept text still says here what the new one does."""
        gap, (here, there) = self.gap, self._words
        if _GLUE.issuperset(here):
            return (
                _GLUE.issuperset(there)
                or _only_adds(self.kept, gap.other_start, gap.other_end)
                or self._goes_on((), there)
            )
        if _GLUE.issuperset(there):
            return _stands_aside(self.new, gap.start, gap.end)
        return (
            self._is_spelling(here, there)
            or self._goes_on(here, there)
            or self._is_other_passage(here, there)
        )

    def _is_spelling(self, here: Sequence[str], there: Sequence[str]) -> bool:
        """Whether the same letters stand here, written together or apart, or in a line of capitals."""
        one, other = "".join(here), "".join(there)
        if one == other:
            return True
        loud = self.gap.start in self.new.loud or self.gap.other_start in self.kept.loud
        return loud and one.casefold() == other.casefold()

    def _goes_on(self, here: Sequence[str], there: Sequence[str]) -> bool:
        """Whether the new text is cut off here, maybe inside of a word, where the kept one goes on."""
        if len(here) > 1 or len(there) < (2 if here else _ASIDE):
            return False
        if self.gap.end == len(self.new.words):
            return there[0].startswith(tuple(here) or "") and not _turns(there[:_ASIDE])
        return self.gap.start == 0 and there[-1].endswith(tuple(here) or "") and not _turns(there[-_ASIDE:])

    def _is_other_passage(self, here: Sequence[str], there: Sequence[str]) -> bool:
        """Whether two passages stand at one place that have nothing to do with each other."""
        one, other, whole = _is_passage(here), _is_passage(there), len(self.new.words)
        at_an_edge = min(self.gap.end, whole - self.gap.start) <= whole // _MARGIN
        return (one and other) or (
            at_an_edge and (one or other) and min(len(here), len(there)) >= _SHORT_ASIDE
        )


def _stands_aside(text: Wording, start: int, end: int) -> bool:
    """Whether the words are a source, a caption, a sentence around the text: nothing of its own."""
    words = text.words[start:end]
    if _is_passage(words):
        return True
    if _turns(words):
        return False
    loose = any(map(is_spaceless, words)) and (
        len(words) >= _ASIDE or (len(words) > 1 and start in text.ends)
    )
    at_an_edge = start == 0 or end == len(text.words)
    return loose or (at_an_edge and text.has_whole(start, end))


def _only_adds(text: Wording, start: int, end: int) -> bool:
    """Whether the words say more than what stands around them, but nothing else."""
    if text.has_whole(start, end) or _stands_aside(text, start, end):
        return True
    words, around = text.words[start:end], text.words[max(start - 1, 0) : end + 1]
    least = _SHORT_ASIDE if any(map(is_spaceless, around)) else _ASIDE
    return not _turns(words) and (len(words) >= least or all(map(is_han, words)))


def _turns(words: Sequence[str]) -> bool:
    """Whether words that are put into a sentence negate it, or count what it speaks of."""
    few = len(words) <= _SHORT_ASIDE
    joined = "".join(words)
    return any(negation in joined for negation in _JOINED_PIVOTS) or any(
        word in _PIVOTS or word.endswith(("n't", "n’t")) or (few and is_numeral(word)) for word in words
    )


def _is_passage(words: Sequence[str]) -> bool:
    """Whether the words are a passage in a script without spaces, where pages run on into their text."""
    return len(words) >= _PASSAGE and 2 * sum(map(is_spaceless, words)) > len(words)
