"""Pack the right context into every prompt: gather, select, structure, compress."""

__all__: list[str] = []
