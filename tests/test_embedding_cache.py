"""Vectors on disk: embedded once, shared by processes, bounded, and no file of anything else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from packline.embedding import Embedder
from packline.embedding_cache import cached_embedding
from packline.errors import ConfigError


class Model:
    """Counts letters, and remembers what it was asked."""

    def __init__(self, name: str = "letters") -> None:
        self.asked: list[str] = []
        self.embedder = Embedder(name, self._documents)

    def _documents(self, texts: list[str]) -> list[list[float]]:
        self.asked += texts
        return [[text.count("a"), text.count("b"), 1] for text in texts]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "vectors.db"


def test_unchanged_text_is_embedded_once_and_once_only(path: Path):
    first, second = Model(), Model()

    vectors = cached_embedding(first.embedder, path=path).documents(["ab", "b", "ab"])
    again = cached_embedding(second.embedder, path=path).documents(["b", "new", "ab"])

    assert first.asked == ["ab", "b"]
    assert second.asked == ["new"]
    assert again[[2, 0, 2]].tolist() == vectors.tolist()


def test_the_vectors_are_those_of_the_model_in_half_precision(path: Path):
    vectors = cached_embedding(Model().embedder, path=path).documents(["aab"])

    assert np.allclose(vectors, Model().embedder.documents(["aab"]), atol=1e-3)


def test_models_do_not_share_vectors(path: Path):
    first, second = Model("one"), Model("two")

    cached_embedding(first.embedder, path=path).documents(["ab"])
    cached_embedding(second.embedder, path=path).documents(["ab"])

    assert second.asked == ["ab"]


def test_questions_go_to_the_model(path: Path):
    model = Model()

    cached_embedding(model.embedder, path=path).query("ab")

    assert model.asked == ["ab"]


def test_only_so_many_vectors_are_kept_the_newest(path: Path):
    model = Model()
    cached = cached_embedding(model.embedder, path=path, size=2)

    for text in ("a", "b", "ab", "ab", "b", "a"):
        cached.documents([text])

    assert model.asked == ["a", "b", "ab", "a"]


def test_more_texts_than_fit_in_one_question_are_found(path: Path):
    model = Model()
    texts = ["a" * n for n in range(1200)]
    cached_embedding(model.embedder, path=path).documents(texts)

    cached_embedding(model.embedder, path=path).documents(texts)

    assert len(model.asked) == 1200


def test_processes_write_at_the_same_time(path: Path):
    script = (
        "import sys; from packline.embedding_cache import cached_embedding\n"
        "def ones(texts): return [[1, 1]] * len(texts)\n"
        "cached = cached_embedding(ones, path=sys.argv[1])\n"
        "for n in range(60): cached.documents([f'{n % 40} {sys.argv[2]}', str(n)])\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(path), str(n)]) for n in range(3)]

    assert [process.wait(120) for process in running] == [0, 0, 0]


@pytest.mark.parametrize("size", [0, -1, 2.0, True])
def test_a_bad_size_is_refused(path: Path, size: object):
    with pytest.raises(ConfigError, match="size must be a whole number from 1"):
        cached_embedding(Model().embedder, path=path, size=size)  # type: ignore[arg-type]


def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path):
    other = tmp_path / "notes.txt"
    other.write_text("not a database " * 100)

    with pytest.raises(ConfigError, match="path must be a file for vectors"):
        cached_embedding(Model().embedder, path=other)

    assert other.read_text() == "not a database " * 100
