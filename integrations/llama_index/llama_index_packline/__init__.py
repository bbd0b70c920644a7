"""packline as a LlamaIndex node postprocessor and response synthesizer."""

__all__: list[str] = []
