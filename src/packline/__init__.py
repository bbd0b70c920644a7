"""packline packs the right context into every prompt: gather, select, structure, compress."""

import logging

from packline.builder import ContextBuilder
from packline.compression import acompress, compress
from packline.config import ContextConfig
from packline.context import Context
from packline.errors import BudgetError, ConfigError, PacklineError, SourceError
from packline.gathering import Failure, Gathered, agather, gather
from packline.packet import ContextPacket, Kind
from packline.prompt import Message
from packline.relevance import Relevance
from packline.request import Request
from packline.section import Section
from packline.selection import Selection, select
from packline.sources import Source, as_source
from packline.structuring import Draft, structure
from packline.template import Template
from packline.tokens import TokenCounter, token_counter
from packline.verdict import Reason, Verdict

__all__ = [
    "BudgetError",
    "ConfigError",
    "Context",
    "ContextBuilder",
    "ContextConfig",
    "ContextPacket",
    "Draft",
    "Failure",
    "Gathered",
    "Kind",
    "Message",
    "PacklineError",
    "Reason",
    "Relevance",
    "Request",
    "Section",
    "Selection",
    "Source",
    "SourceError",
    "Template",
    "TokenCounter",
    "Verdict",
    "acompress",
    "agather",
    "as_source",
    "compress",
    "gather",
    "select",
    "structure",
    "token_counter",
]

logging.getLogger(__name__).addHandler(logging.NullHandler())
