"""Passages: no skeleton at all, for texts that someone else's prompt is written around.

With this template the whole pipeline packs a bare text: what is selected, shortened and counted is exactly
what a postprocessor or a document compressor hands on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from packline.config import ContextConfig
from packline.errors import ConfigError
from packline.inert import Borders
from packline.packet import ContextPacket, Kind
from packline.section import Order, Section
from packline.template import Template

__all__ = ["Passages"]

Written = Callable[[ContextPacket, str], str]
_TITLE = "Passages"


@dataclass(frozen=True)
class Passages(Template):
    """The chosen texts, joined by a separator; neither question nor headings, and no text is marked.

    Args:
        written: How a packet's text stands among the others, from the packet and its whole or shortened text,
            for a framework that writes metadata around it. None: a turn after its speaker, all else as it is.

    >>> Passages().render({"Passages": "One.\\n\\nTwo.", "Task": "Why?"})
    'One.\\n\\nTwo.'
    """

    sections: tuple[Section, ...] = (
        Section(_TITLE, tuple(Kind)),
        Section("Task", holds="question"),
        Section("Output", holds="output"),
    )
    output: str = ""
    memory_prefix: str = ""
    written: Written | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.written is not None and not callable(self.written):
            raise ConfigError("written", self.written, "a callable of packet and text, or None")
        if self.sections[0].title != _TITLE:
            raise ConfigError("sections", [s.title for s in self.sections], f"with {_TITLE!r} first")

    @classmethod
    def config(
        cls,
        config: ContextConfig,
        *,
        separator: str = "\n\n",
        order: Order = "score",
        written: Written | None = None,
    ) -> ContextConfig:
        """`config` for packing passages: nothing is reserved, and there are no messages that cost more.

        Args:
            separator: What stands between two passages.
            order: How they stand: see `Section`.
            written: See above.
        """
        section = Section(_TITLE, tuple(Kind), separator=separator, order=order)
        template = cls((section, *cls.sections[1:]), written=written)
        return config.replace(
            template=template, reserve_ratio=0.0, message_overhead=0, recent_turns=0, layout="prompt"
        )

    def head(self, packet: ContextPacket) -> str:
        """What a packet costs beside its text."""
        return super().head(packet) if self.written is None else self.written(packet, "")

    def entry(self, packet: ContextPacket, text: str, borders: Borders) -> str:
        """`text` of `packet` as it stands among the passages."""
        return self.head(packet) + text if self.written is None else self.written(packet, text)

    def borders(self, section: Section, speakers: Sequence[str] = ()) -> Borders:  # type: ignore[override]
        """None: the prompt that the passages go to is not known here."""
        return Borders(["(?!)"])

    def render(self, bodies: Mapping[str, str], titles: Sequence[str] | None = None) -> str:
        """The passages alone."""
        return bodies.get(_TITLE, "") if titles is None or _TITLE in titles else ""

    def split(self, prompt: str) -> dict[str, str]:
        """The whole text is one section."""
        return {_TITLE: prompt}
