"""packline as a LlamaIndex node postprocessor and response synthesizer."""

from llama_index_packline.counting import budget_for
from llama_index_packline.events import ContextEvent, collect_contexts
from llama_index_packline.postprocessor import ContextPostprocessor

__all__ = ["ContextEvent", "ContextPostprocessor", "budget_for", "collect_contexts"]
