"""packline as a LlamaIndex node postprocessor, response synthesizer and memory block."""

from llama_index_packline.block import ContextMemoryBlock
from llama_index_packline.counting import budget_for
from llama_index_packline.embedding import BundledEmbedding
from llama_index_packline.events import ContextEvent, collect_contexts
from llama_index_packline.memory import aread_memory, memory_sources, read_memory
from llama_index_packline.postprocessor import ContextPostprocessor
from llama_index_packline.sources import retriever_source
from llama_index_packline.synthesizer import ContextSynthesizer

__all__ = [
    "BundledEmbedding",
    "ContextEvent",
    "ContextMemoryBlock",
    "ContextPostprocessor",
    "ContextSynthesizer",
    "aread_memory",
    "budget_for",
    "collect_contexts",
    "memory_sources",
    "read_memory",
    "retriever_source",
]
