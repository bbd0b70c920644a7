"""Fitting: a draft while it is made to fit its budget, step by step.

A step is a text that may be summarized: whoever drives the fitting says how that went, in a thread or on an
event loop, so that there is one fitting for both.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Mapping

from packline.attempt import Outcome
from packline.config import ContextConfig
from packline.context import Context
from packline.errors import BudgetError
from packline.filling import LEAST_SNIPPET
from packline.gathering import Failure
from packline.packet import ContextPacket, Kind
from packline.prompt import MEDIA_TOKENS, attached
from packline.shortening import Shortening
from packline.structuring import Draft, DraftSection
from packline.tokens import Counter, token_counter
from packline.verdict import Reason, Verdict

__all__ = ["Fitting", "Steps"]

_WORTH_USING = 8  # tokens
_ENDS = 300  # characters of a long question at either end
_WIDENINGS = 3  # of one text: each is estimated a little short

Steps = Generator[str, Outcome[str], Context]


class Fitting:
    """A draft, and what has become of it.

    Args:
        counter: None: what counted for the selection.
        config: None: the settings that the selection was made with.
        summarizes: Whether texts are to be summarized before they are shortened.
    """

    def __init__(
        self, draft: Draft, counter: Counter | None, config: ContextConfig | None, summarizes: bool
    ) -> None:
        self.draft = draft
        self.counter = counter or draft.selection.counter or token_counter()
        self.config = config or draft.selection.config
        self.summarizes = summarizes
        self.limit = draft.selection.max_tokens
        self.reasons = {_key(v): v.reason for part in draft.sections for v in part.verdicts}
        self.out: list[Verdict] = []
        self.failures: list[Failure] = []
        self.question: Verdict | None = None
        self.shortenings: dict[str, Shortening] = {}

    def steps(self) -> Steps:
        """Yields texts to summarize, is sent how that went, and returns the finished context."""
        self._check_fixed()
        for part in self.draft.sections:
            for verdict in part.verdicts:
                if verdict.limit is not None:
                    limit = verdict.limit - self.counter.count(part.section.separator)
                    if self._cost(verdict) > limit:
                        yield from self._shorten(verdict, limit)
        while (over := self._tokens(self.draft) - self.limit) > 0:
            verdict = self._least_valuable()
            yield from self._shorten(verdict, self._cost(verdict) - over)
        self._widen()
        return self._finished()

    def _check_fixed(self) -> None:
        bare = dataclasses.replace(self.draft, sections=())
        needed = self._tokens(bare)
        if needed > self.limit and not (self.config.shorten_question and self._shorten_question(bare)):
            raise self._too_small(needed, self._section_tokens(bare))

    def _too_small(self, needed: int, sizes: Mapping[str, int]) -> BudgetError:
        largest = max(sizes, key=lambda title: sizes[title])
        attachments = self.draft.selection.request.attachments
        if (media := MEDIA_TOKENS * len(attachments)) > sizes[largest]:
            return BudgetError(needed, self.limit, attached(attachments), media)
        return BudgetError(needed, self.limit, largest)

    def _shorten_question(self, bare: Draft) -> bool:
        """Put a shorter question in place of the one there is; False if none fits."""
        question = bare.selection.request.question
        ends = f"{question[:_ENDS]}\n{question[-_ENDS:]}"  # where people say what they want of a pasted text
        room = self.limit - self._tokens(bare) + self.counter.count(question)
        shortening = Shortening(question, ends, self.counter)
        while text := shortening.to(room):
            request = dataclasses.replace(bare.selection.request, question=text)
            selection = dataclasses.replace(bare.selection, request=request)
            over = self._tokens(dataclasses.replace(bare, selection=selection)) - self.limit
            if over <= 0:
                packet = ContextPacket(question, kind=Kind.OTHER, id="question")
                tokens = self.counter.count(text)
                self.question = Verdict(
                    packet, Reason.LONG_QUESTION, "question", -1, tokens=tokens, shortened=text
                )
                self.draft = dataclasses.replace(self.draft, selection=selection)
                return True
            room -= over
        return False

    def _tokens(self, draft: Draft) -> int:
        prompt = draft.prompt(chat=self.config.layout == "chat")
        return prompt.tokens(self.counter, overhead=self.config.message_overhead)

    def _cost(self, verdict: Verdict) -> int:
        return self.counter.count(self.draft.template.head(verdict.packet) + verdict.text)

    def _least_valuable(self) -> Verdict:
        """Of the section that exceeds its share the most, what can best be done without."""

        def excess(part: DraftSection) -> float:
            return sum(map(self._cost, part.verdicts)) - part.section.share * self.draft.selection.budget

        def value(verdict: Verdict) -> tuple[int, float, int]:
            rank = {Reason.STATE: 2, Reason.RECENT_TURN: 1}.get(self.reasons[_key(verdict)], 0)
            return rank, (verdict.score or 0.0) if rank == 0 else verdict.position, -verdict.position

        return min(max(self.draft.sections, key=excess).verdicts, key=value)

    def _shorten(self, verdict: Verdict, limit: int) -> Generator[str, Outcome[str], None]:
        """Put a shorter text in place of the verdict's, or take it out where that would be a stub."""
        head = self.draft.template.head(verdict.packet)
        room = limit - self.counter.count(head)
        text, reason = "", Reason.SHORTENED
        if self.config.enable_compression and room >= LEAST_SNIPPET:
            if self.summarizes and verdict.shortened is None:
                text = self._checked((yield verdict.packet.content), room)
                reason = Reason.SUMMARIZED if text else reason
            if not text:
                text = self._shortening(verdict.packet.content).to(room)
        tokens = self.counter.count(head + text)
        if text and tokens < self._cost(verdict):
            kept = dataclasses.replace(verdict, shortened=text, reason=reason, tokens=tokens)
            self.draft = self.draft.edited({verdict: kept})
        else:
            self.draft = self.draft.edited({verdict: None})
            self.out.append(dataclasses.replace(verdict, shortened=None, reason=Reason.OVER_BUDGET))

    def _widen(self) -> None:
        """Let shortened texts have what the estimates left over, best first."""
        verdicts = [verdict for part in self.draft.sections for verdict in part.verdicts]
        shortened = [verdict for verdict in verdicts if verdict.reason is Reason.SHORTENED]
        for verdict in sorted(shortened, key=lambda verdict: -(verdict.score or 0.0)):
            wider: Verdict | None = verdict
            room = self._cost(verdict) - self.counter.count(self.draft.template.head(verdict.packet))
            for _ in range(_WIDENINGS):
                spare = self.limit - self._tokens(self.draft)
                if wider is None or spare < _WORTH_USING:
                    break
                room += spare
                wider = self._wider(wider, room)

    def _shortening(self, content: str) -> Shortening:
        """One for each text, since a text may be shortened several times."""
        if content not in self.shortenings:
            question = self.draft.selection.request.question
            self.shortenings[content] = Shortening(content, question, self.counter)
        return self.shortenings[content]

    def _wider(self, verdict: Verdict, room: int) -> Verdict | None:
        """Put more of the text in its place, as far as the whole prompt allows; None if it does not."""
        content = verdict.packet.content
        text = self._shortening(content).to(room)
        wider = dataclasses.replace(verdict, shortened=text)
        if text == content:
            wider = dataclasses.replace(
                verdict, shortened=None, limit=None, reason=self.reasons[_key(verdict)]
            )
        wider = dataclasses.replace(wider, tokens=self._cost(wider))
        draft = self.draft.edited({verdict: wider})
        if self._cost(wider) <= self._cost(verdict) or self._tokens(draft) > self.limit:
            return None
        self.draft = draft
        return wider

    def _checked(self, outcome: Outcome[str], room: int) -> str:
        """The summary, if it is one and fits; else an empty text, and a failure in the report."""
        text, error = outcome.value, outcome.error
        if error is None and isinstance(text, str) and text.strip():
            tokens = self.counter.count(text)
            if tokens <= room:
                return text
            error = ValueError(f"returned {tokens} tokens where {room} were allowed")
        self.failures.append(Failure("summarizer", error or TypeError(f"returned {text!r}"), outcome.seconds))
        return ""

    def _section_tokens(self, draft: Draft) -> dict[str, int]:
        return {
            title: self.counter.count(draft.template.render({title: body}))
            for title, body in draft.bodies().items()
        }

    def _finished(self) -> Context:
        selection = self.draft.selection
        prompt = self.draft.prompt(chat=self.config.layout == "chat")
        verdicts = [verdict for part in self.draft.sections for verdict in part.verdicts]
        shortened = [verdict for verdict in verdicts if verdict.shortened is not None]
        template = self.draft.template
        return Context(
            text=prompt.text,
            messages=prompt.messages,
            tokens=self._tokens(self.draft),
            max_tokens=self.limit,
            kept=tuple(verdict for verdict in verdicts if verdict.shortened is None),
            shortened=tuple(shortened if self.question is None else [self.question, *shortened]),
            dropped=(*self.out, *selection.dropped) if self.out else selection.dropped,
            failures=(*selection.failures, *self.failures),
            section_tokens=self._section_tokens(self.draft),
            citations={
                number: verdict.packet
                for part in self.draft.sections
                for number, verdict in enumerate(part.verdicts, 1)
                if template.number(part.section, number)
            },
            request=selection.request,
        )


def _key(verdict: Verdict) -> tuple[bool, int]:
    """What a verdict stays known by while it is shortened; the state is numbered on its own."""
    return verdict.packet.kind is Kind.STATE, verdict.position
