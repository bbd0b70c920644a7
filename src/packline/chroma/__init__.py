"""KnowledgeBase and MemoryStore on embedded Chroma: `pip install "packline[chroma]"`."""

from packline.chroma.ingesting import Failed, Ingested
from packline.chroma.knowledge import KnowledgeBase
from packline.chroma.memory import MemoryStore, MemoryType

__all__ = ["Failed", "Ingested", "KnowledgeBase", "MemoryStore", "MemoryType"]
