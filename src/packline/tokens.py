"""Counting and cutting text by tokens.

Counts are exact for the tokenizer that is asked, never an estimate unless an approximate counter
was asked for. Cutting goes by what the counter says of the finished piece, since a token may span
characters and a count need not grow with every character.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Mapping, Sequence, Sized
from itertools import accumulate
from numbers import Integral
from typing import Protocol, runtime_checkable

import regex
import tiktoken

from packline.errors import ConfigError
from packline.inert import sound
from packline.vocabulary import vocabulary

__all__ = ["Counter", "TokenCounter", "approximate_tokens", "token_counter"]

DEFAULT_ENCODING = "o200k_base"
CACHED_COUNTS = 32_768
_LOOK_AHEAD = 8  # clusters


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
        measure: Text to tokens: a number, or anything with a length (the list of ids). It is given text that
            any encoder takes, single surrogates replaced by U+FFFD.
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
        tokens = self._tokens(text)
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
        fitting = self._fitting(text, ends, limit)
        # The next character may complete a shorter token: look a little further, as long as that helps.
        last = min(fitting + _LOOK_AHEAD, len(ends))
        while last > fitting:
            if self._tokens(text[: ends[last - 1]]) <= limit:
                fitting, last = last, min(last + _LOOK_AHEAD, len(ends))
            else:
                last -= 1
        return text[: ends[fitting - 1]] if fitting else ""

    def _fitting(self, text: str, ends: Sequence[int], limit: int) -> int:
        """How many of `ends` to keep so that the head fits and the next one would not.

        Counts grow nearly in proportion to the text, so the place is guessed from those on both sides, and
        every other time halved, lest a text that is dense at one end takes many steps.
        """
        fits, exceeds = 0, len(ends) + 1
        least, most = 0, max(limit + 1, self._tokens(text[: ends[-1]]) if ends else 0)
        halve = False
        while exceeds - fits > 1:
            share = 0.5 if halve else (limit - least + 0.5) / (most - least)
            middle = min(max(fits + round(share * (exceeds - fits)), fits + 1), exceeds - 1)
            tokens = self._tokens(text[: ends[middle - 1]])
            if tokens <= limit:
                fits, least = middle, tokens
            else:
                exceeds, most = middle, tokens
            halve = not halve
        return fits

    def _cluster_ends(self, text: str, limit: int) -> list[int]:
        """Where the grapheme clusters end, as far as the first head that exceeds `limit`."""
        size = 4 * limit + 16
        while size < len(text) and self._tokens(text[:size]) <= limit:
            size *= 2
        stop = min(size + 64, len(text))
        ends = list(accumulate(map(len, _CLUSTER.findall(text, 0, stop))))
        return ends if stop == len(text) else ends[:-1]  # the last one may go on behind `stop`

    def _tokens(self, text: str) -> int:
        measured = self._measure(sound(text))
        if isinstance(measured, bool) or not isinstance(measured, (int, Integral)):
            return _length(measured, self.name)
        tokens = int(measured)  # an int, or one of numpy's
        if tokens < 0:
            raise ConfigError("token_counter", measured, "a callable that returns a whole number from 0")
        return tokens

    def __repr__(self) -> str:
        return f"TokenCounter({self.name})"


# A surrogate pair that was left unjoined is one character to the reader, two to Python.
_CLUSTER = regex.compile(r"[\uD800-\uDBFF][\uDC00-\uDFFF]|\X")


def _length(measured: object, name: str) -> int:
    if not isinstance(measured, Sized) or isinstance(measured, (str, bytes, Mapping)):
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

    There is one for a name, which all its users share with the counts that it remembers.

    Args:
        spec: None for o200k_base; the name of a tiktoken encoding or of a model; "approximate"; a tiktoken
            `Encoding`; a Hugging Face `tokenizers.Tokenizer` or `transformers` tokenizer; any callable from
            text to a number or to a list of tokens; or a `Counter`, which is returned as it is. The `encode`
            of an `Encoding`, also with options, counts as the encoding: special tokens in a text are text.

    Raises:
        ConfigError: `spec` is none of these.
        PacklineError: The vocabulary is not on this machine and could not be fetched.
    """
    if spec is None or isinstance(spec, str):
        return _named(DEFAULT_ENCODING if spec is None else spec)
    if isinstance(spec, Counter):
        return spec
    name = getattr(spec, "name", None)
    name = name if isinstance(name, str) else type(spec).__name__
    owner = getattr(getattr(spec, "func", spec), "__self__", None)
    for encoding in (spec, owner):
        if isinstance(encoding, tiktoken.Encoding):
            return _of_encoding(encoding)
    encode = getattr(_whole(spec), "encode", None)
    if callable(encode):
        return TokenCounter(_ids_of(encode), name=name)
    if callable(spec):
        return TokenCounter(spec, name=getattr(spec, "__name__", name))
    raise ConfigError("token_counter", spec, "an encoding or model name, a tokenizer, or a callable")


def _named(name: str) -> Counter:
    encoding = None if name == "approximate" else vocabulary(name)
    called = name if encoding is None else encoding.name  # a model's name is one of many for its encoding
    with _SHARED_LOCK:
        if called not in _SHARED:
            _SHARED[called] = (
                TokenCounter(approximate_tokens, name=name) if encoding is None else _of_encoding(encoding)
            )
        return _SHARED[called]


_SHARED: dict[str, Counter] = {}
_SHARED_LOCK = threading.Lock()


def _of_encoding(encoding: tiktoken.Encoding) -> Counter:
    return TokenCounter(encoding.encode_ordinary, name=encoding.name)


def _whole(tokenizer: object) -> object:
    """`tokenizer`, or a copy that neither truncates nor pads where this one does.

    Tokenizers of embedding models come cut to the model's length: they would count long texts short.
    """
    cuts = (
        getattr(tokenizer, "truncation", None) is not None or getattr(tokenizer, "padding", None) is not None
    )
    write, read = getattr(tokenizer, "to_str", None), getattr(type(tokenizer), "from_str", None)
    if not cuts or not callable(write) or not callable(read):
        return tokenizer
    copy = read(write())
    copy.no_truncation()
    copy.no_padding()
    return copy


def _ids_of(encode: Callable[..., object]) -> Callable[[str], int]:
    """Counts by `encode`, without the special tokens that some tokenizers add to every text."""

    def measure(text: str) -> int:
        try:
            encoded = encode(text, add_special_tokens=False)
        except TypeError:
            encoded = encode(text)
        return _length(getattr(encoded, "ids", encoded), "encode")

    return measure
