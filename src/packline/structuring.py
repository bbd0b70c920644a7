"""Structure: the chosen packets in their sections, each in its place.

The conversation stands in the order in which it was spoken, whatever the scores; evidence and memories
stand best first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from packline.packet import Kind
from packline.prompt import Prompt, chat_message, fixed_bodies
from packline.section import Order, Section
from packline.selection import Selection
from packline.template import Template
from packline.verdict import Verdict

__all__ = ["Draft", "DraftSection", "structure"]


@dataclass(frozen=True, slots=True)
class DraftSection:
    """A section with what stands in it, in order."""

    section: Section
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, kw_only=True)
class Draft:
    """The prompt before it is made to fit.

    Args:
        selection: What it was made from.
        template: The skeleton.
        sections: Sections that have entries, in the template's order.
    """

    selection: Selection
    template: Template
    sections: tuple[DraftSection, ...]

    def prompt(self, *, chat: bool = False) -> Prompt:
        """The finished forms of the draft.

        Args:
            chat: Let the turns of the conversation be messages of their own.
        """
        media = len(self.selection.request.attachments)
        if not chat:
            return Prompt.of(self.template, self.bodies(), media=media)
        verdicts = [v for part in self.sections for v in part.verdicts]
        # Turns that a source found in older conversations are texts among others.
        own = len(self.selection.request.history)
        spoken = {v: chat_message(v) for v in verdicts if v.source == "conversation" and v.position < own}
        turns = [message for message in spoken.values() if message is not None]
        inside = self.edited({verdict: None for verdict, message in spoken.items() if message is not None})
        return Prompt.of(self.template, self.bodies(), turns=turns, chat_bodies=inside.bodies(), media=media)

    def bodies(self) -> dict[str, str]:
        """Title to text of each section, in the template's order, borders marked."""
        return dict(self._bodies)

    @cached_property
    def _bodies(self) -> dict[str, str]:
        request = self.selection.request
        bodies = fixed_bodies(self.template, request.question, request.instructions)
        heads = {self.template.head(v.packet).strip(": ") for part in self.sections for v in part.verdicts}
        for part in self.sections:
            borders = self.template.borders(part.section, heads - {""})
            written = [
                self.template.number(part.section, place) + self.template.entry(v.packet, v.text, borders)
                for place, v in enumerate(part.verdicts, 1)
            ]
            before = [bodies[part.section.title]] if part.section.title in bodies else []
            bodies[part.section.title] = part.section.separator.join([*before, *written])
        return {s.title: bodies[s.title] for s in self.template.sections if s.title in bodies}

    def edited(self, edits: Mapping[Verdict, Verdict | None]) -> Draft:
        """The draft with other verdicts in place of some; None takes one out."""
        sections = []
        for part in self.sections:
            edited = (edits.get(verdict, verdict) for verdict in part.verdicts)
            if verdicts := tuple(verdict for verdict in edited if verdict is not None):
                sections.append(DraftSection(part.section, verdicts))
        return dataclasses.replace(self, sections=tuple(sections))


def structure(selection: Selection, *, template: Template | None = None) -> Draft:
    """Put each kept packet in its section.

    Within a section packets stand by kind, in the order of the section's `kinds`: the conversation as it was
    spoken, the state as given, all others in the section's `order`. Each text stands whole; shortening comes
    after.

    Args:
        template: The skeleton; None: that of the selection's config.
    """
    template = selection.config.template if template is None else template
    sections = []
    for section in template.sections:
        verdicts = tuple(
            verdict for kind in section.kinds for verdict in _in_order(section.order, kind, selection.kept)
        )
        if verdicts:
            sections.append(DraftSection(section, verdicts))
    return Draft(selection=selection, template=template, sections=tuple(sections))


def _in_order(order: Order, kind: Kind, kept: Sequence[Verdict]) -> list[Verdict]:
    verdicts = [verdict for verdict in kept if verdict.packet.kind is kind]
    if kind is Kind.HISTORY:
        # What a source found of older conversations comes before the conversation itself.
        return sorted(verdicts, key=lambda verdict: (verdict.source == "conversation", verdict.position))
    if kind is Kind.STATE or order == "given":
        return sorted(verdicts, key=lambda verdict: verdict.position)
    best_first = sorted(verdicts, key=lambda verdict: -(verdict.score or 0.0))
    return best_first if order == "score" else [*best_first[::2], *reversed(best_first[1::2])]
