"""Embedding models of any kind, behind one shape."""

import logging
import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from llama_index.core.embeddings import MockEmbedding

from packline.embedding import Embedder, embedding
from packline.errors import ConfigError, PacklineError


def lengths(texts: list[str]) -> list[list[float]]:
    return [[len(text), 3] for text in texts]


class Encoder:
    """As sentence-transformers' models are called."""

    model_name = "tiny"

    def encode(self, sentences: list[str]) -> np.ndarray:
        return np.array(lengths(sentences))


def test_vectors_are_of_unit_length_and_single_precision() -> None:
    vectors = embedding(lengths).documents(["four", "", "x" * 9_999])

    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)


def test_a_vector_of_zeros_stays_one() -> None:
    assert embedding(lambda texts: [[0, 0] for _ in texts]).query("x").tolist() == [0, 0]


def test_no_texts_are_no_call() -> None:
    assert Embedder("never", lambda texts: pytest.fail("called")).documents([]).shape == (0, 0)


def test_a_question_is_embedded_as_a_text_unless_the_model_does_it_otherwise() -> None:
    same, other = Embedder("m", lengths), Embedder("m", lengths, lambda text: [0, 1])

    assert same.query("four").tolist() == same.documents(["four"])[0].tolist()
    assert other.query("four").tolist() == [0, 1]


def test_a_langchain_model_is_used_by_its_own_methods() -> None:
    model = DeterministicFakeEmbedding(size=8)

    found = embedding(model)

    assert found.name == "DeterministicFakeEmbedding"
    expected = np.array(model.embed_query("bears"))
    np.testing.assert_allclose(found.query("bears"), expected / np.linalg.norm(expected), rtol=1e-5)
    np.testing.assert_allclose(found.documents(["bears"])[0], found.query("bears"), rtol=1e-5)


def test_a_llama_index_model_is_used_by_its_own_methods_and_named_with_its_model() -> None:
    found = embedding(MockEmbedding(embed_dim=4, model_name="mock-4"))

    assert found.name == "MockEmbedding/mock-4"
    assert found.documents(["a", "b"]).tolist() == [[0.5] * 4] * 2
    assert found.query("a").tolist() == [0.5] * 4


def test_a_model_with_encode_is_used_by_it() -> None:
    found = embedding(Encoder())

    assert found.name == "Encoder/tiny"
    np.testing.assert_allclose(found.documents(["four"]), [[0.8, 0.6]], rtol=1e-6)


def test_functions_are_named_after_themselves_and_an_embedder_stays_what_it_is() -> None:
    own = Embedder("mine", lengths)

    assert embedding(lengths).name == "lengths"
    assert embedding(partial(lengths)).name == "partial"
    assert embedding(own) is own


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[1, 2]], r"got \(1, 2\)"),
        ([[1, 2]] * 3, r"got \(3, 2\)"),
        ([1, 2], r"got \(2,\)"),
        ([[], []], r"got \(2, 0\)"),
        ([[1, 2], [3]], "must be numbers, as many for each text"),
        ([["a"], ["b"]], "must be numbers, as many for each text"),
        (None, "must be"),
        ([[1, float("nan")], [1, 2]], "must be finite numbers"),
        ([[1, float("inf")], [1, 2]], "must be finite numbers"),
    ],
)
def test_what_is_not_one_vector_for_each_text_is_refused(vectors: object, message: str) -> None:
    model = Embedder("bad", lambda texts: vectors)  # type: ignore[arg-type,return-value]

    with pytest.raises(ConfigError, match=f"vectors of bad .*{message}"):
        model.documents(["a", "b"])


@pytest.mark.parametrize("spec", [3, "text-embedding-3-small", [], Encoder])
def test_what_is_no_model_is_refused(spec: object) -> None:
    with pytest.raises(ConfigError, match="embed must be a callable from a list of texts to vectors"):
        embedding(spec)


@pytest.mark.parametrize("kind", [Encoder, DeterministicFakeEmbedding, MockEmbedding])
def test_a_class_of_models_is_no_model(kind: type) -> None:
    with pytest.raises(ConfigError, match="this is a class, not a model made from it"):
        embedding(kind)


def test_the_bundled_model_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(embedding())) is embedding()


def test_an_embedder_without_a_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="name of the embedding model"):
        Embedder("", lengths)


def test_the_bundled_model_knows_what_belongs_together() -> None:
    bundled = embedding()

    doctor, physician, stocks = bundled.documents(["a doctor", "the physician", "stocks fell"])

    assert bundled.name == "wordllama/l2_supercat_256"
    assert doctor.shape == (256,)
    assert doctor @ physician > 0.5 > doctor @ stocks


@pytest.mark.parametrize("text", ["", " ", "\ud800", "\0", "🐼", "x" * 20_000])
def test_the_bundled_model_takes_any_text(text: str) -> None:
    length = np.linalg.norm(embedding().query(text))

    assert length == pytest.approx(1, rel=1e-5) or (length == 0 and text == "")


def test_a_text_has_the_same_vector_whatever_it_is_embedded_with() -> None:
    texts = [f"text {'long ' * (n % 50)}" for n in range(600)]

    together = embedding().documents(texts)

    np.testing.assert_array_equal(together[577], embedding().query(texts[577]))


def test_loading_the_bundled_model_leaves_logging_alone() -> None:
    code = (
        "import logging; from packline.embedding import embedding; embedding(); root = logging.getLogger(); "
        "print(root.handlers, root.level)"
    )

    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert out == f"[] {logging.WARNING}\n"


def test_without_the_bundled_model_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from packline.embedding import _bundled

    monkeypatch.setitem(sys.modules, "wordllama", None)
    _bundled.cache_clear()

    with pytest.raises(PacklineError, match=r'pip install "packline\[semantic\]"'):
        embedding()
