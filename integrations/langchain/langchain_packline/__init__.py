"""packline's stages as LangChain Runnables."""

__all__: list[str] = []
