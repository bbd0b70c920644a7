"""The same stores on a real Chroma server, over HTTP."""

import socket
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import chromadb
import httpx
import numpy as np
import pytest

from packline import ConfigError
from packline.chroma import Ingested, KnowledgeBase, MemoryStore
from packline.embedding import Embedder

Embed = Callable[[list[str]], np.ndarray]


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server of its own, on a free port of this machine, that ends with the tests."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    chroma = Path(sysconfig.get_path("scripts")) / "chroma"
    folder = tmp_path_factory.mktemp("server")
    command = [chroma, "run", "--path", folder, "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            _wait_for(port, server)
            yield port
        finally:
            server.terminate()


def _wait_for(port: int, server: "subprocess.Popen[bytes]") -> None:
    for _ in range(300):
        try:
            httpx.get(f"http://127.0.0.1:{port}/api/v2/heartbeat").raise_for_status()
        except httpx.HTTPError:
            assert server.poll() is None, "the server has ended"
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("the server does not answer")


@contextmanager
def connected(port: int) -> Iterator[chromadb.ClientAPI]:
    with chromadb.HttpClient("127.0.0.1", port) as client:
        yield client
        for part in (
            client,
            client._admin_client,
        ):  # Chroma leaves their connections to the garbage collector
            part._server._session.close()


@pytest.fixture
def client(port: int) -> Iterator[chromadb.ClientAPI]:
    with connected(port) as client:
        yield client


def test_knowledge_on_a_server_is_kept_in_step_and_found(
    client: chromadb.ClientAPI, tmp_path: Path, embed: Embed
) -> None:
    (tmp_path / "bears.md").write_text("Bears eat fish.")
    (tmp_path / "pandas.md").write_text("Pandas reads CSV.")
    with KnowledgeBase(client=client, embed=embed, name="step") as knowledge:
        assert len(knowledge.add(tmp_path).added) == 2
        (tmp_path / "bears.md").write_text("Bears sleep.")
        (tmp_path / "pandas.md").unlink()

        report = knowledge.add(tmp_path)

        bears, pandas = f"{tmp_path}/bears.md", f"{tmp_path}/pandas.md"
        assert report == Ingested(updated=(bears,), removed=(pandas,), passages=1)
        assert [packet.content for packet in knowledge.search("What do bears do?")] == ["Bears sleep."]


def test_one_client_sees_what_another_writes(client: chromadb.ClientAPI, port: int, embed: Embed) -> None:
    with connected(port) as second:
        one = KnowledgeBase(client=client, embed=embed, name="shared")
        other = KnowledgeBase(client=second, embed=embed, name="shared")
        one.add_text("Bears eat fish.", source="note")
        assert [packet.content for packet in other.search("bears fish")] == ["Bears eat fish."]
        one.add_text("Bears sleep.", source="note")

        assert [packet.content for packet in other.search("bears sleep")] == ["Bears sleep."]


def test_a_model_is_remembered_by_a_server_too(client: chromadb.ClientAPI, embed: Embed) -> None:
    KnowledgeBase(client=client, embed=Embedder("first", embed), name="models")

    with pytest.raises(ConfigError, match="embed must be 'first'"):
        KnowledgeBase(client=client, embed=Embedder("second", embed), name="models")


def test_users_on_one_server_are_apart(client: chromadb.ClientAPI, embed: Embed) -> None:
    users = ["ada", "a'b", "$ne", "数据", "../ada"]
    stores = [MemoryStore(user_id=user, client=client, embed=embed) for user in users]
    for store, user in zip(stores, users, strict=True):
        store.add(f"Secret of {user}.", importance=0.9)

    found = [[packet.content for packet in store.search("secret", 50)] for store in stores]
    forgotten = stores[0].forget(all=True)

    assert found == [[f"Secret of {user}."] for user in users]
    assert forgotten == 1
    assert [len(store) for store in stores] == [0, 1, 1, 1, 1]
    assert [packet.content for packet in stores[1].search("secret", memory_types=["episodic"])] == [
        "Secret of a'b."
    ]
