"""Embedding models: one shape for the bundled model, plain functions and the models of frameworks.

Whatever a model returns is checked and brought to unit length here, once, so that a dot product is a cosine
everywhere else. Nothing heavy is imported before the bundled model is asked for.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from packline.errors import ConfigError, PacklineError

__all__ = ["Embedder", "Vectors", "embedding", "is_named", "unit_rows"]

Vectors: TypeAlias = NDArray[np.float32]

_EXPECTED = (
    "a callable from a list of texts to vectors, an Embedder, or a model with embed_documents and "
    "embed_query, get_text_embedding_batch and get_query_embedding, or encode"
)
_MODEL_NAMES = ("model_name", "model", "model_id", "repo_id", "model_path", "name_or_path")
_BUNDLED = "wordllama/l2_supercat_256"
_LOADING = threading.Lock()


class Embedder:
    """A model that turns texts into vectors of unit length, with a name to know it again by.

    Args:
        name: What a store remembers the model by.
        documents: From a list of texts to one vector for each, of any length but 0.
        query: From a question to its vector, for models that treat questions differently. None: as a text.

    >>> by_length = Embedder("length", lambda texts: [[len(text), 3] for text in texts])
    >>> by_length.documents(["four", ""])
    array([[0.8, 0.6],
           [0. , 1. ]], dtype=float32)
    >>> by_length.query("four").shape
    (2,)
    """

    def __init__(
        self,
        name: str,
        documents: Callable[[list[str]], ArrayLike],
        query: Callable[[str], ArrayLike] | None = None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ConfigError("name of the embedding model", name, "a string that is not empty")
        self.name = name
        self._documents = documents
        self._query = query

    def documents(self, texts: Sequence[str]) -> Vectors:
        """One row a text; a vector of zeros stays one. No texts, no call: the shape is then (0, 0).

        Raises:
            ConfigError: The model gave another number of vectors, vectors of different lengths, or numbers
                that are not finite.
        """
        if not texts:
            return np.zeros((0, 0), np.float32)
        return unit_rows(self._documents(list(texts)), len(texts), of=self.name)

    def query(self, text: str) -> Vectors:
        """The vector of a question, of shape (d,). Raises `ConfigError` as `documents` does."""
        vectors = self._documents([text]) if self._query is None else [self._query(text)]
        row: Vectors = unit_rows(vectors, 1, of=self.name)[0]
        return row

    def __reduce__(self) -> str | tuple[object, ...]:
        if self.name == _BUNDLED:
            return embedding, ()
        return Embedder, (self.name, self._documents, self._query)

    def __repr__(self) -> str:
        return f"Embedder({self.name!r})"


def unit_rows(given: object, rows: int, *, of: str) -> Vectors:
    """Vectors of unit length, of shape (rows, d); a vector of zeros stays one.

    Args:
        given: One vector for each row, in any form that numpy reads.
        of: Whose vectors they are, for the message.

    Raises:
        ConfigError: They are more or fewer, of different lengths, empty or not finite.
    """
    field = f"vectors of {of}"
    try:
        vectors = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise ConfigError(field, given, "numbers, as many for each text") from None
    if vectors.ndim != 2 or vectors.shape[0] != rows or vectors.shape[1] == 0:
        raise ConfigError(
            field, vectors.shape, f"of shape ({rows}, d): one vector of d numbers for each text"
        )
    if not np.isfinite(vectors).all():
        raise ConfigError(field, "NaN or infinity", "finite numbers")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths == 0, 1, lengths)).astype(np.float32)


def embedding(spec: object = None) -> Embedder:
    """The embedder for whatever is, or has, an embedding model.

    Args:
        spec: None for the model that `packline[semantic]` bundles; an `Embedder`, which is returned as it is;
            a LangChain, LlamaIndex or sentence-transformers model; any callable from a list of texts to
            vectors. Models are named after their class and the model in it, functions after themselves: two
            lambdas look alike, an `Embedder` with a name of your own does not.

    Raises:
        ConfigError: `spec` is none of these.
        PacklineError: The bundled model is asked for and not installed.

    >>> def count_vowels(texts):
    ...     return [[text.count(vowel) for vowel in "aeiou"] for text in texts]
    >>> embedding(count_vowels)
    Embedder('count_vowels')
    """
    if spec is None:
        with _LOADING:
            return _bundled()
    if isinstance(spec, Embedder):
        return spec
    if isinstance(spec, type):
        raise ConfigError("embed", spec, f"{_EXPECTED}; this is a class, not a model made from it")
    for documents, query in (
        ("embed_documents", "embed_query"),
        ("get_text_embedding_batch", "get_query_embedding"),
    ):
        if callable(getattr(spec, documents, None)) and callable(getattr(spec, query, None)):
            return Embedder(_name(spec), getattr(spec, documents), getattr(spec, query))
    if callable(encode := getattr(spec, "encode", None)) and not isinstance(spec, str):
        return Embedder(_name(spec), encode)
    if callable(spec):
        return Embedder(_name(spec), spec)
    raise ConfigError("embed", spec, _EXPECTED)


def is_named(model: object) -> bool:
    """Whether a model's name tells it from others of its class: a function's own, or one that the model has.

    A lambda, a method of an object and a `functools.partial` have none.
    """
    if isinstance(model, FunctionType):
        return model.__name__ != "<lambda>"
    return model is None or isinstance(model, Embedder) or _inner_name(model) is not None


def _name(model: object) -> str:
    function = getattr(model, "__qualname__", None)
    if isinstance(function, str):
        return function.rpartition(".<locals>.")[2]
    inner, kind = _inner_name(model), type(model).__name__
    return f"{kind}/{inner}" if inner else kind


def _inner_name(model: object) -> str | None:
    names = (getattr(model, attribute, None) for attribute in _MODEL_NAMES)
    return next((name for name in names if isinstance(name, str) and name), None)


@lru_cache(maxsize=1)
def _bundled() -> Embedder:
    """wordllama's static model: the mean of 256-dimensional token vectors, read from its wheel."""
    try:
        with _root_logger_kept():
            import wordllama
    except ImportError as error:
        raise PacklineError(
            'the bundled embedding model is not installed: run pip install "packline[semantic]", '
            "or pass embed=... with a model of your own"
        ) from error
    # Its tokenizer lies in the package, where it does not look by itself.
    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    model.tokenizer.no_padding()
    table, encode = model.embedding, model.tokenizer.encode_batch_fast

    def documents(texts: list[str]) -> Vectors:
        # Its own `embed` pads a batch to its longest text, which takes gigabytes, and divides 0 by 0.
        vectors = np.zeros((len(texts), table.shape[1]), np.float32)
        for start in range(0, len(texts), 256):
            batch = [text.encode("utf-8", "replace").decode() for text in texts[start : start + 256]]
            for row, encoded in enumerate(encode(batch, add_special_tokens=False), start):
                if encoded.ids:
                    vectors[row] = table[np.asarray(encoded.ids)].mean(axis=0)
        return vectors

    return Embedder(_BUNDLED, documents)


@contextmanager
def _root_logger_kept() -> Iterator[None]:
    """wordllama calls `logging.basicConfig` when it is imported; logging is the application's to set."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        yield
    finally:
        root.setLevel(level)
        for handler in root.handlers[:]:
            if handler not in handlers:
                root.removeHandler(handler)
