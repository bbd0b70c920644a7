"""Counting and cutting text by tokens.

Counts are exact for the tokenizer that is asked, never an estimate unless an approximate counter
was asked for. Cutting goes by what the counter says of the finished piece, since a token may span
characters and a count need not grow with every character.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
import os
import threading
from bisect import bisect_right
from collections.abc import Callable, Sized
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Protocol, runtime_checkable

import regex
import tiktoken

from packline.errors import ConfigError, PacklineError

__all__ = ["Counter", "TokenCounter", "approximate_tokens", "token_counter"]

DEFAULT_ENCODING = "o200k_base"
CACHED_COUNTS = 32_768
_LOOK_AHEAD = 8  # clusters
_BUNDLED = ("cl100k_base", "o200k_base", "o200k_harmony")
_CACHE_FOLDER_LOCK = threading.Lock()


@runtime_checkable
class Counter(Protocol):
    """What the stages need of a tokenizer."""

    def count(self, text: str) -> int:
        """Tokens of `text`, counted on its own."""
        ...

    def cut(self, text: str, limit: int) -> str:
        """The head of `text` in at most `limit` tokens."""
        ...


class TokenCounter:
    """Counts with any callable, and remembers the counts of texts it has seen.

    Args:
        measure: Text to tokens: a number, or anything with a length (the list of ids).
        name: Shown in reports.
        cached: How many counts are kept. The cache holds digests, not texts.

    >>> counter = TokenCounter(len, name="characters")
    >>> counter.count("four"), counter.cut("four", 3)
    (4, 'fou')
    """

    def __init__(
        self, measure: Callable[[str], int | Sized], *, name: str, cached: int = CACHED_COUNTS
    ) -> None:
        self.name = name
        self._measure = measure
        self._cached = cached
        self._counts: dict[bytes, int] = {}

    def count(self, text: str) -> int:
        """Tokens of `text`, counted on its own.

        Raises:
            ConfigError: The callable gave something that is not a whole number from 0.
        """
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = self._counts.get(key)
        if known is not None:
            return known
        tokens = self._checked(self._measure(text))
        if len(self._counts) >= self._cached:
            self._counts.clear()
        self._counts[key] = tokens
        return tokens

    def cut(self, text: str, limit: int) -> str:
        """The longest head of `text` that counts at most `limit` tokens, in whole grapheme clusters.

        An emoji, a letter with its combining marks or a surrogate pair is never broken. Where a
        counter falls as the text grows, a head that fits is returned, though not always the longest.

        >>> token_counter(len).cut("e\\u0301te\\u0301", 3) == "e\\u0301t"
        True
        """
        if limit <= 0:
            return ""
        ends = self._cluster_ends(text, limit)
        if ends and ends[-1] == len(text) and self._tokens(text) <= limit:
            return text
        fitting = bisect_right(ends, limit, key=lambda end: self._tokens(text[:end]))
        # The last character may complete a shorter token: look a little further, then back.
        for last in range(min(fitting + _LOOK_AHEAD, len(ends)), 0, -1):
            if self._tokens(text[: ends[last - 1]]) <= limit:
                return text[: ends[last - 1]]
        return ""

    def _cluster_ends(self, text: str, limit: int) -> list[int]:
        """Where the grapheme clusters end, as far as the first head that exceeds `limit`."""
        size = 4 * limit + 16
        while size < len(text) and self._tokens(text[:size]) <= limit:
            size *= 2
        return list(accumulate(map(len, _CLUSTER.findall(text, 0, min(size + 64, len(text))))))

    def _tokens(self, text: str) -> int:
        return self._checked(self._measure(text))

    def _checked(self, measured: int | Sized) -> int:
        tokens = measured if isinstance(measured, int) else _length(measured, self.name)
        if isinstance(tokens, bool) or tokens < 0:
            raise ConfigError("token_counter", measured, "a callable that returns a whole number from 0")
        return tokens

    def __repr__(self) -> str:
        return f"TokenCounter({self.name})"


# A surrogate pair that was left unjoined is one character to the reader, two to Python.
_CLUSTER = regex.compile(r"[\uD800-\uDBFF][\uDC00-\uDFFF]|\X")


def _length(measured: object, name: str) -> int:
    if not isinstance(measured, Sized):
        raise ConfigError("token_counter", measured, f"a callable that returns a number or a list ({name})")
    return len(measured)


def approximate_tokens(text: str) -> int:
    """A quick estimate, for who asks for it: characters / 4, with 1.5 characters a token beyond ASCII.

    Rounded up. It is no promise about any model: a budget held by this count may overflow the model's.

    >>> approximate_tokens("twelve chars"), approximate_tokens("数据分析")
    (3, 3)
    """
    ascii_only = len(text.encode("ascii", "ignore"))
    return math.ceil(ascii_only / 4 + (len(text) - ascii_only) / 1.5)


def token_counter(spec: object = None) -> Counter:
    """The counter for whatever names or is a tokenizer.

    Args:
        spec: None for o200k_base; the name of a tiktoken encoding or of a model; "approximate"; a tiktoken
            `Encoding`; a Hugging Face `tokenizers.Tokenizer` or `transformers` tokenizer; any callable from
            text to a number or to a list of tokens; or a `Counter`, which is returned as it is.

    Raises:
        ConfigError: `spec` is none of these.
        PacklineError: The vocabulary is not on this machine and could not be fetched.
    """
    if spec is None or isinstance(spec, str):
        return _named(spec or DEFAULT_ENCODING)
    if isinstance(spec, Counter):
        return spec
    name = getattr(spec, "name", None)
    name = name if isinstance(name, str) else type(spec).__name__
    if isinstance(spec, tiktoken.Encoding):
        return _of_encoding(spec)
    encode = getattr(spec, "encode", None)
    if callable(encode):
        return TokenCounter(_ids_of(encode), name=name)
    if callable(spec):
        return TokenCounter(spec, name=getattr(spec, "__name__", name))
    raise ConfigError("token_counter", spec, "an encoding or model name, a tokenizer, or a callable")


@lru_cache(maxsize=8)
def _encoding(name: str) -> tiktoken.Encoding:
    known = tiktoken.list_encoding_names()
    if name not in known:
        try:
            name = tiktoken.encoding_name_for_model(name)
        except KeyError:
            expected = f"an encoding ({', '.join(known)}), a model name that tiktoken knows, or 'approximate'"
            raise ConfigError("token_counter", name, expected) from None
    return _load(name)


def _named(name: str) -> Counter:
    if name == "approximate":
        return TokenCounter(approximate_tokens, name=name)
    return _of_encoding(_encoding(name))


def _of_encoding(encoding: tiktoken.Encoding) -> Counter:
    return TokenCounter(encoding.encode_ordinary, name=encoding.name)


def _ids_of(encode: Callable[..., object]) -> Callable[[str], int]:
    """Counts by `encode`, without the special tokens that some tokenizers add to every text."""

    def measure(text: str) -> int:
        try:
            encoded = encode(text, add_special_tokens=False)
        except TypeError:
            encoded = encode(text)
        return _length(getattr(encoded, "ids", encoded), "encode")

    return measure


def _load(name: str) -> tiktoken.Encoding:
    """Load a vocabulary: the user's tiktoken cache first, then the copy that llama-index-core carries.

    Where neither is there, tiktoken fetches it as it always does.
    """
    bundle = _bundled_vocabularies() if name in _BUNDLED else None
    with _CACHE_FOLDER_LOCK:
        if bundle is None or "TIKTOKEN_CACHE_DIR" in os.environ or "DATA_GYM_CACHE_DIR" in os.environ:
            return _fetched(name)
        os.environ["TIKTOKEN_CACHE_DIR"] = str(bundle)
        try:
            return _fetched(name)
        finally:
            del os.environ["TIKTOKEN_CACHE_DIR"]


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
