"""packline's stages as LangChain Runnables."""

from langchain_packline.builder import ContextBuilder, ContextBuilderWithContext, PromptAndContext
from langchain_packline.compressor import ContextCompressor
from langchain_packline.conversations import from_checkpointer
from langchain_packline.retriever import ContextRetriever
from langchain_packline.sources import as_source
from langchain_packline.stages import Compress, Gather, Select, Structure
from langchain_packline.stores import from_store
from langchain_packline.vector_stores import from_vector_store

__all__ = [
    "Compress",
    "ContextBuilder",
    "ContextBuilderWithContext",
    "ContextCompressor",
    "ContextRetriever",
    "Gather",
    "PromptAndContext",
    "Select",
    "Structure",
    "as_source",
    "from_checkpointer",
    "from_store",
    "from_vector_store",
]
