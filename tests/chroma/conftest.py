"""A model that is quick and exact: a text is a bag of its words, each word a direction of its own."""

import zlib
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from packline.chroma import KnowledgeBase, MemoryStore
from packline.relevance.words import words

Embed = Callable[[list[str]], np.ndarray]


def bag_of_words(texts: list[str]) -> np.ndarray:
    vectors = np.zeros((len(texts), 64))
    for row, text in enumerate(texts):
        for word in words(text):
            vectors[row, zlib.crc32(word.encode()) % 64] += 1
    return vectors


@pytest.fixture
def embed() -> Embed:
    return bag_of_words


@pytest.fixture
def knowledge(embed: Embed) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(embed=embed) as store:
        yield store


@pytest.fixture
def memory(embed: Embed) -> Iterator[MemoryStore]:
    with MemoryStore(embed=embed) as store:
        yield store
