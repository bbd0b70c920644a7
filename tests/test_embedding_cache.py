"""Vectors on disk: embedded once, shared by processes, bounded, and no file of anything else."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
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


class Wider(Model):
    """A model of the same name whose vectors are longer."""

    def _documents(self, texts: list[str]) -> list[list[float]]:
        return [[*vector, 0.0, 1.0] for vector in super()._documents(texts)]


def test_another_model_of_the_same_name_is_refused_with_the_file_and_the_way_out(path: Path):
    cached_embedding(Model().embedder, path=path).documents(["ab"])
    wider = cached_embedding(Wider().embedder, path=path)

    with pytest.raises(ConfigError, match="must be of one length; another model of that name") as refused:
        wider.documents(["ab", "new"])

    assert f"vectors of letters in {path}" in str(refused.value)
    assert "delete it, or give another path, or an Embedder with a name of its own" in str(refused.value)
    assert refused.value.value == "3 and 5 numbers"


def test_another_model_is_noticed_also_where_all_texts_are_known_and_writes_nothing(path: Path):
    cached_embedding(Model().embedder, path=path).documents(["ab"])
    wider = cached_embedding(Wider().embedder, path=path)
    with pytest.raises(ConfigError):
        wider.documents(["ab", "new"])
    again = Model()

    wider.query("ab")

    with pytest.raises(ConfigError, match="of one length"):
        wider.documents(["ab"])
    assert cached_embedding(again.embedder, path=path).documents(["ab", "new"]).shape == (2, 3)
    assert again.asked == ["new"]


@pytest.mark.parametrize("path", [None, 5, "", ":memory:", b"vectors.db"])
def test_what_is_no_path_of_a_file_is_refused(path: object):
    with pytest.raises(ConfigError, match="path must be that of a file; to keep vectors in memory"):
        cached_embedding(Model().embedder, path=path)  # type: ignore[arg-type]


def test_a_file_with_another_table_of_that_name_is_refused_and_left_alone(tmp_path: Path):
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as base, base:
        base.execute("CREATE TABLE vectors (id INTEGER, numbers TEXT)")
        base.execute("INSERT INTO vectors VALUES (1, 'mine')")

    with pytest.raises(ConfigError, match=r"path must be a file for vectors .* \(no such column: key\)"):
        cached_embedding(Model().embedder, path=other)

    with closing(sqlite3.connect(other)) as base:
        assert base.execute("SELECT * FROM vectors").fetchall() == [(1, "mine")]


def test_a_file_or_folder_that_is_deleted_later_is_made_anew(path: Path):
    model = Model()
    cached = cached_embedding(model.embedder, path=path)
    cached.documents(["ab"])

    shutil.rmtree(path.parent)
    again = cached.documents(["ab"])

    assert model.asked == ["ab", "ab"]
    assert again.tolist() == cached.documents(["ab"]).tolist()
    assert path.exists()


@pytest.mark.parametrize("under", ["a file", "a file/deeper"])
def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, under: str):
    (tmp_path / "a file").write_text("no folder")

    with pytest.raises(ConfigError, match="path must be a file for vectors that can be read and written"):
        cached_embedding(Model().embedder, path=tmp_path / under / "vectors.db")


def test_a_path_that_becomes_unusable_later_is_told_as_such(path: Path):
    cached = cached_embedding(Model().embedder, path=path)
    shutil.rmtree(path.parent)
    path.parent.write_text("no folder any more")

    with pytest.raises(ConfigError, match="path must be a file for vectors that can be read and written"):
        cached.documents(["ab"])


@pytest.mark.parametrize("change", ["substr(vector, 1, 3)", "'text'", "zeroblob(0)"])
def test_a_damaged_row_is_refused_with_the_file_and_the_way_out(path: Path, change: str):
    cached = cached_embedding(Model().embedder, path=path)
    cached.documents(["ab"])
    with closing(sqlite3.connect(path)) as base, base:
        base.execute(f"UPDATE vectors SET vector = {change}")

    with pytest.raises(ConfigError, match="the file is damaged: delete it, or give another path") as refused:
        cached.documents(["ab"])

    assert str(path) in str(refused.value)


class Nameless:
    """A model like many: its class says what it is, nothing says which one."""

    def encode(self, texts: list[str]) -> list[list[float]]:
        return [[len(text), 1.0] for text in texts]


@pytest.mark.parametrize("model", [Nameless(), Nameless().encode, lambda texts: [[1.0] for _ in texts]])
def test_a_model_without_a_name_of_its_own_is_refused(path: Path, model: object):
    with pytest.raises(ConfigError, match="a model with a name of its own: wrap it"):
        cached_embedding(model, path=path)

    assert cached_embedding(Embedder("mine", Nameless().encode), path=path).name == "mine"


def test_a_folder_of_the_user_may_be_written_as_usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))

    cached_embedding(Model().embedder, path="~/vectors.db").documents(["a"])

    assert (tmp_path / "vectors.db").is_file()
