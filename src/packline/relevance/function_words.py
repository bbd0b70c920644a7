"""Words that carry the grammar of a question, not its subject.

A small pool does not show that "which" is a common word: it may stand in one text only, and would then
outweigh the word that is asked about. So the closed classes of some languages (articles, pronouns,
prepositions, auxiliaries, question words) are listed. Scripts without spaces need none: there single
characters and pairs are weighed by plain rarity.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["function_words"]

_ENGLISH = """
a an the of in on at to for from by with into about and or but if than as not no so is are was were be
been am do does did have has had can could will would should may might shall must i you he she it we
they me him her us them my your his its our their this that these those there what which who whom whose
when where why how s t
"""
_GERMAN = """
der die das den dem des ein eine einer eines einem einen und oder aber wenn als nicht kein keine ist
sind war waren sein bin hat haben hatte hatten kann können wird werden wurde wurden soll muss ich du er
sie es wir ihr mich mir dich dir mein dein unser in im an am auf zu zum zur für von vom bei mit nach aus
über was wer wen wem wessen wann wo warum wie welche welcher welches
"""
_FRENCH = """
le la les un une des du de et ou mais si que ne pas est sont était étaient être a ont avait avoir peut
je tu il elle on nous vous ils elles me te se mon ton son notre votre leur ce cet cette ces à au aux en
dans sur pour par avec quel quelle quels quelles qui quoi quand où pourquoi comment combien d l qu
"""
_SPANISH = """
el la los las un una unos unas de del y o pero si que no es son era eran ser está están fue ha han puede
yo tú él ella nosotros ellos me te se mi tu su este esta estos estas en a al por para con sobre qué cuál
cuáles quién quiénes cuándo dónde cómo cuánto
"""
_LANGUAGES = tuple(frozenset(listed.split()) for listed in (_ENGLISH, _GERMAN, _FRENCH, _SPANISH))


def function_words(question: Iterable[str]) -> frozenset[str]:
    """The function words of the language that a question has most of them from, English where that is open.

    Among them the first five characters of the longer ones, by which words are matched too. Only one
    language counts: "war" is grammar in German and a subject in English.

    >>> sorted({"which", "war", "the"} & function_words(["which", "war", "the"]))
    ['the', 'which']
    """
    asked = set(question)
    listed = max(_LANGUAGES, key=lambda words: len(words & asked))
    return listed | {word[:5] for word in listed}
