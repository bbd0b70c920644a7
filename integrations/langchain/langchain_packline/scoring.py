"""Scoring: what scores documents, shared by a Runnable and its copies and by nobody else.

A scorer remembers the last pools of texts and the vectors of texts. LangChain makes a copy of a Runnable for
each setting of a call, and that copy must embed nothing again; but what was remembered goes with the last of
them, and no other builder in the process sees it.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Self

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.configurable import RunnableConfigurableFields
from langchain_core.runnables.utils import Input, Output
from pydantic import PrivateAttr, SkipValidation

from langchain_packline.models import scorer_of
from langchain_packline.options import STRICT, Options
from langchain_packline.unasked import rescored
from packline import Gathered, Relevance
from packline.relevance.scorers import Scorers

__all__ = ["Configurable", "Given", "Scoring"]

Given = Annotated[Any, SkipValidation]


class Scoring(Options):
    """What scores documents.

    Args:
        relevance: As in `packline.ContextBuilder`; any LangChain embedding model will do, too. None:
            "lexical", for what has no score.
    """

    model_config = STRICT

    relevance: Given = None
    _scorers: Scorers = PrivateAttr(default_factory=partial(Scorers, scorer_of))

    def model_post_init(self, context: Any, /) -> None:
        """Refuse at once what cannot score."""
        super().model_post_init(context)
        _ = self.scorer

    @property
    def scorer(self) -> Relevance:
        """What scores."""
        return self._scorers.of("lexical" if self.relevance is None else self.relevance)

    def to_score(self, gathered: Gathered) -> Gathered:
        """What was gathered, with the scores that stand beside a `relevance`."""
        return gathered if self.relevance is None else rescored(gathered)

    def _sharing(self, original: Options) -> Self:
        if isinstance(original, Scoring):
            self._scorers = original._scorers
        return super()._sharing(original)


class Configurable(RunnableConfigurableFields[Input, Output]):
    """Something of packline with fields that a config sets; copies of LangChain's own share nothing."""

    def _prepare(
        self, config: RunnableConfig | None = None
    ) -> tuple[Runnable[Input, Output], RunnableConfig]:
        runnable, config = super()._prepare(config)
        if isinstance(runnable, Options) and isinstance(self.default, Options):
            runnable._sharing(self.default)
        return runnable, config

    @classmethod
    def lc_id(cls) -> list[str]:
        """That of LangChain's own, which is what is read again."""
        return RunnableConfigurableFields.lc_id()
