"""Vocabularies: finding those of tiktoken without a network where that can be done."""

from __future__ import annotations

import importlib.util
import os
import threading
from functools import lru_cache
from pathlib import Path

import tiktoken

from packline.errors import ConfigError, PacklineError

__all__ = ["vocabulary"]

# Vocabularies that llama-index-core carries, by the names that tiktoken gives their files.
_BUNDLED = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "o200k_harmony": "fb374d419588a4632f3f557e76b4b70aebbca790",
}
_CACHE_VARIABLES = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")  # tiktoken reads the first that is set
_CACHE_FOLDER_LOCK = threading.Lock()


@lru_cache(maxsize=8)
def vocabulary(name: str) -> tiktoken.Encoding:
    """The tiktoken encoding of that name, or of the model of that name.

    Raises:
        ConfigError: tiktoken knows neither.
        PacklineError: The vocabulary is not on this machine and could not be fetched.
    """
    known = tiktoken.list_encoding_names()
    if name not in known:
        try:
            name = tiktoken.encoding_name_for_model(name)
        except KeyError:
            expected = f"an encoding ({', '.join(known)}), a model name that tiktoken knows, or 'approximate'"
            raise ConfigError("token_counter", name, expected) from None
    return _load(name)


def _load(name: str) -> tiktoken.Encoding:
    """Load a vocabulary: the user's tiktoken cache first, then the copy that llama-index-core carries.

    Where neither is there, tiktoken fetches it as it always does.
    """
    with _CACHE_FOLDER_LOCK:
        bundle = _bundled_vocabularies()
        if bundle is None or not _holds(bundle, name) or any(_holds(own, name) for own in _own_caches()):
            return _fetched(name)
        before = os.environ.get(_CACHE_VARIABLES[0])
        os.environ[_CACHE_VARIABLES[0]] = str(bundle)
        try:
            return _fetched(name)
        finally:
            del os.environ[_CACHE_VARIABLES[0]]
            if before is not None:
                os.environ[_CACHE_VARIABLES[0]] = before


def _own_caches() -> list[Path]:
    """The folder that the user chose for tiktoken, if any."""
    chosen = next((os.environ[name] for name in _CACHE_VARIABLES if name in os.environ), "")
    return [Path(chosen)] if chosen else []


def _holds(folder: Path, name: str) -> bool:
    return name in _BUNDLED and (folder / _BUNDLED[name]).is_file()


def _fetched(name: str) -> tiktoken.Encoding:
    try:
        return tiktoken.get_encoding(name)
    except (OSError, ValueError) as error:
        raise PacklineError(
            f"the vocabulary of {name} is not on this machine and could not be fetched ({error}): set "
            'TIKTOKEN_CACHE_DIR to a folder that has it, or run pip install "packline[llama-index]", which '
            "carries cl100k_base and o200k_base; token_counter='approximate' counts without one"
        ) from error


def _bundled_vocabularies() -> Path | None:
    try:
        spec = importlib.util.find_spec("llama_index.core")
    except ModuleNotFoundError:
        return None
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "_static" / "tiktoken_cache"
    return folder if folder.is_dir() else None
