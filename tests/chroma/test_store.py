"""What both stores promise once they are closed."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from packline import ContextBuilder, PacklineError
from packline.chroma import KnowledgeBase, MemoryStore

Embed = Callable[[list[str]], np.ndarray]
Store = KnowledgeBase | MemoryStore
BOTH = pytest.mark.parametrize("kind", [KnowledgeBase, MemoryStore])
SHARED: list[Callable[[Store], object]] = [
    len,
    lambda store: store.__enter__(),
    lambda store: store.search("rain"),
    lambda store: store.search(""),
    lambda store: store.gather("rain"),
    lambda store: asyncio.run(store.agather("rain")),
]
KNOWLEDGE: list[Callable[[KnowledgeBase], object]] = [
    lambda store: store.add([]),
    lambda store: store.add_text("Rain falls."),
    lambda store: store.add_texts([]),
    lambda store: store.remove("rain.md"),
]
MEMORY: list[Callable[[MemoryStore], object]] = [
    lambda store: store.add("Rain fell."),
    lambda store: store.recent(),
    lambda store: store.forget(all=True),
]


@BOTH
@pytest.mark.parametrize("place", ["memory", "folder", "client"])
def test_whatever_is_asked_of_a_closed_store_is_refused_with_what_opens_it_again(
    kind: type[Store], place: str, embed: Embed, tmp_path: Path
) -> None:
    import chromadb

    with chromadb.PersistentClient(str(tmp_path / "client")) as client:
        given = {"memory": {}, "folder": {"path": tmp_path}, "client": {"client": client}}[place]
        store = kind(embed=embed, **given)
        store.close()
        name = kind.__name__
        expected = {
            "memory": f"this {name} is closed, and what it held in memory gone: make one anew",
            "folder": f"this {name} is closed: open it again with {name}({str(tmp_path)!r}, ...)",
            "client": f"this {name} is closed: open it again with {name}(client=..., ...)",
        }[place]

        for ask in [*SHARED, *(KNOWLEDGE if kind is KnowledgeBase else MEMORY)]:
            with pytest.raises(PacklineError, match=f"^{re.escape(expected)}"):
                ask(store)

        assert bool(store)
        assert repr(store).startswith(f"{name}(")


@BOTH
def test_a_closed_store_opens_again_as_the_error_says(
    kind: type[Store], embed: Embed, tmp_path: Path
) -> None:
    with kind(tmp_path, embed=embed) as store:
        store.add_text("Rain fell.") if isinstance(store, KnowledgeBase) else store.add("Rain fell.")
    with pytest.raises(PacklineError, match="is closed"):
        len(store)

    with kind(tmp_path, embed=embed) as again:
        assert len(again) == 1


@BOTH
def test_a_closed_store_is_a_reported_failure_of_a_build(kind: type[Store], embed: Embed) -> None:
    store = kind(embed=embed)
    builder = ContextBuilder(sources=[store, lambda _: "Rain falls in May."], token_counter="approximate")
    store.close()

    context = builder.build("When does rain fall?")
    awaited = asyncio.run(builder.abuild("When does rain fall?"))

    for built in (context, awaited):
        [failure] = built.failures
        assert failure.source == store.name
        assert isinstance(failure.error, PacklineError)
        assert "is closed, and what it held in memory gone" in str(failure)
        assert "Rain falls in May." in built.text


@BOTH
def test_closing_one_store_leaves_another_in_the_same_folder_open(
    kind: type[Store], embed: Embed, tmp_path: Path
) -> None:
    with KnowledgeBase(tmp_path, embed=embed) as other:
        kind(tmp_path, embed=embed).close()

        assert other.add_text("Rain falls.").added


@BOTH
def test_a_client_that_its_owner_closed_is_named(kind: type[Store], embed: Embed, tmp_path: Path) -> None:
    import chromadb

    with chromadb.PersistentClient(str(tmp_path)) as client:
        store = kind(client=client, embed=embed, name="owned")

    with pytest.raises(PacklineError, match=r"^the Chroma client of 'owned.*' is closed: open another"):
        store.search("rain")


@BOTH
def test_what_is_no_store_is_named_with_a_way_out(kind: type[Store], embed: Embed, tmp_path: Path) -> None:
    (tmp_path / "chroma.sqlite3").write_text("no database")

    with pytest.raises(PacklineError, match=f"^{re.escape(str(tmp_path))} could not be opened as a store"):
        kind(tmp_path, embed=embed)


@BOTH
def test_a_path_that_is_not_utf_8_is_refused(kind: type[Store], embed: Embed, tmp_path: Path) -> None:
    with pytest.raises(PacklineError, match="path must be a path that can be written in UTF-8"):
        kind(tmp_path / "\udcff", embed=embed)
