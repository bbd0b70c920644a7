"""KnowledgeBase: in step with the files, whatever happens; and what a search finds."""

import asyncio
import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from packline import ConfigError, ContextBuilder, Kind
from packline.chroma import Ingested, KnowledgeBase
from packline.embedding import Embedder

Embed = Callable[[list[str]], np.ndarray]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "deep").mkdir(parents=True)
    (folder / "pandas.md").write_text("# Pandas\n\nUse categories to save memory.\n")
    (folder / "deep" / "bears.txt").write_text("Bears eat fish.\n")
    (folder / "cities.csv").write_text("city,people\nOslo,709037\n")
    return folder


def contents(knowledge: KnowledgeBase) -> set[str]:
    """All passages, by a search that leaves nothing out."""
    return {packet.content for packet in knowledge.search("what", limit=10_000, min_score=0)}


def names(sources: tuple[str, ...]) -> list[str]:
    return sorted(Path(source).name for source in sources)


def test_a_folder_is_added_with_all_that_is_in_it(knowledge: KnowledgeBase, docs: Path) -> None:
    report = knowledge.add(docs)

    assert names(report.added) == ["bears.txt", "cities.csv", "pandas.md"]
    assert report == Ingested(added=report.added, passages=3)
    assert contents(knowledge) == {
        "# Pandas\n\nUse categories to save memory.",
        "Bears eat fish.",
        "city: Oslo; people: 709037",
    }


def test_adding_again_changes_nothing(knowledge: KnowledgeBase, docs: Path) -> None:
    first = knowledge.add(docs)

    again = knowledge.add([docs, docs / "pandas.md"])

    assert again == Ingested(unchanged=first.added)


def test_only_what_has_changed_is_replaced(knowledge: KnowledgeBase, docs: Path) -> None:
    knowledge.add(docs)
    (docs / "deep" / "bears.txt").write_text("Bears sleep.\n")

    report = knowledge.add(docs)

    assert names(report.updated) == ["bears.txt"]
    assert names(report.unchanged) == ["cities.csv", "pandas.md"]
    assert {"Bears sleep."} == {text for text in contents(knowledge) if "Bears" in text}


def test_a_file_that_was_only_touched_is_unchanged(knowledge: KnowledgeBase, docs: Path) -> None:
    knowledge.add(docs)
    os.utime(docs / "pandas.md", (1, 1))

    assert not knowledge.add(docs).updated


def test_what_is_gone_from_the_folder_is_removed_and_nothing_else(
    knowledge: KnowledgeBase, docs: Path, tmp_path: Path
) -> None:
    other = tmp_path / "docs-too" / "other.txt"
    other.parent.mkdir()
    other.write_text("Elsewhere.")
    knowledge.add([docs, other.parent])
    knowledge.add_text("By hand.", source=f"{docs}/by-hand.md")
    (docs / "pandas.md").unlink()
    other.unlink()

    report = knowledge.add(docs)

    assert names(report.removed) == ["pandas.md"]
    assert contents(knowledge) == {"Bears eat fish.", "city: Oslo; people: 709037", "Elsewhere.", "By hand."}


def test_adding_one_file_removes_no_other(knowledge: KnowledgeBase, docs: Path) -> None:
    knowledge.add(docs)
    (docs / "pandas.md").unlink()

    report = knowledge.add(docs / "cities.csv")

    assert report == Ingested(unchanged=report.unchanged)
    assert len(knowledge) == 3


def test_another_passage_length_makes_every_file_new(docs: Path, tmp_path: Path, embed: Embed) -> None:
    with KnowledgeBase(tmp_path / "store", embed=embed) as knowledge:
        knowledge.add(docs)

    with KnowledgeBase(tmp_path / "store", embed=embed, chunk_tokens=50) as knowledge:
        assert len(knowledge.add(docs).updated) == 3


def test_hidden_files_and_other_types_in_a_folder_are_left_alone(
    knowledge: KnowledgeBase, docs: Path
) -> None:
    (docs / ".hidden.md").write_text("hidden")
    (docs / ".git").mkdir()
    (docs / ".git" / "x.md").write_text("hidden")
    (docs / "program.exe").write_bytes(b"MZ")

    report = knowledge.add(docs)

    assert names(report.added) == ["bears.txt", "cities.csv", "pandas.md"]
    assert not report.failed


def test_a_broken_file_is_reported_and_the_rest_is_added(knowledge: KnowledgeBase, docs: Path) -> None:
    (docs / "binary.txt").write_bytes(b"\x00\x01\x02")
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7")
    (docs / "broken.ipynb").write_text("{")
    (docs / "empty.md").write_text("")
    (docs / "lost.md").symlink_to(docs / "nowhere.md")

    report = knowledge.add(docs)

    assert len(report.added) == 3
    assert [Path(failed.source).name for failed in report.failed] == [
        "binary.txt",
        "broken.ipynb",
        "broken.pdf",
        "empty.md",
        "lost.md",
    ]
    assert "binary.txt: is binary" in str(report)
    assert isinstance(report.failed[-1].error, FileNotFoundError)


def test_a_folder_that_cannot_be_opened_is_reported_and_what_is_known_of_it_stays(
    knowledge: KnowledgeBase, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    knowledge.add(docs)
    scandir = os.scandir

    def refusing(path: str) -> object:
        if Path(path).name == "deep":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)

    report = knowledge.add(docs)

    assert list(map(str, report.failed)) == [f"{docs}/deep: Permission denied"]
    assert report.removed == ()
    assert len(knowledge) == 3


def test_a_named_file_of_a_type_that_is_not_read_is_reported(knowledge: KnowledgeBase, docs: Path) -> None:
    (docs / "program.exe").write_bytes(b"MZ")

    [failed] = knowledge.add(docs / "program.exe").failed

    assert (
        str(failed) == f"{docs}/program.exe: .exe is not read: only .md, .markdown, .txt, .rst, .html, .htm, "
        ".pdf, .ipynb, .csv"
    )


def test_a_file_that_has_become_unreadable_as_text_is_no_longer_found(
    knowledge: KnowledgeBase, docs: Path
) -> None:
    knowledge.add(docs)
    (docs / "deep" / "bears.txt").write_bytes(b"\0")

    knowledge.add(docs)

    assert not [text for text in contents(knowledge) if "Bears" in text]


def test_a_path_that_does_not_exist_is_refused(knowledge: KnowledgeBase) -> None:
    with pytest.raises(ConfigError, match="path must be a file or folder that exists, got 'nowhere'"):
        knowledge.add("nowhere")


def test_a_passage_says_where_it_is_from_and_when_it_changed(knowledge: KnowledgeBase, docs: Path) -> None:
    os.utime(docs / "pandas.md", (1_700_000_000, 1_700_000_000))
    knowledge.add(docs)

    [found] = knowledge.search("How do categories save memory?")

    assert found.kind is Kind.EVIDENCE
    assert found.timestamp == datetime.fromtimestamp(1_700_000_000, UTC)
    assert found.relevance_score is None
    assert found.id == f"{docs}/pandas.md#0"
    score = found.metadata["score"]
    assert isinstance(score, float)
    assert 0.3 <= score <= 1
    assert dict(found.metadata) == {
        "source": f"{docs}/pandas.md",
        "position": 0,
        "title": "Pandas",
        "heading": "Pandas",
        "score": score,
    }


def test_positions_count_the_passages_of_each_file(embed: Embed) -> None:
    with KnowledgeBase(embed=embed, chunk_tokens=8) as knowledge:
        knowledge.add_text("one two three four.\n\n" * 12, source="long.txt")
        packets = knowledge.search("one", limit=100, min_score=0)

    positions = sorted(packet.metadata["position"] for packet in packets)  # type: ignore[type-var]
    assert positions == list(range(len(packets)))
    assert len(packets) > 5
    assert len({packet.id for packet in packets}) == len(packets)


def test_metadata_comes_back_unharmed(knowledge: KnowledgeBase) -> None:
    metadata = {
        "none": None,
        "deep": {"list": [1, 2.5, None, {"é": "数据"}]},
        "big": 2**80,
        "lone": "\ud800",
        "nul": "a\0b",
        "": "empty",
        "$where": "'; DROP",
        "type": "pdf",
    }
    knowledge.add_text("Some text.", source="s", metadata=metadata)

    [found] = knowledge.search("text", min_score=0)

    given = {name: value for name, value in found.metadata.items() if name in metadata}
    assert given == metadata
    assert found.kind is Kind.EVIDENCE


def test_metadata_that_json_cannot_hold_is_refused_by_name(knowledge: KnowledgeBase) -> None:
    with pytest.raises(ConfigError, match=r"metadata\['when'\] must be what JSON can hold"):
        knowledge.add_text("x", metadata={"when": datetime(2026, 1, 1, tzinfo=UTC)})


def test_a_text_under_the_same_name_replaces_the_one_before(knowledge: KnowledgeBase) -> None:
    knowledge.add_text("Old.", source="note")

    report = knowledge.add_text("New.", source="note")

    assert report == Ingested(updated=("note",), passages=1)
    assert knowledge.add_text("New.", source="note") == Ingested(unchanged=("note",))
    assert contents(knowledge) == {"New."}


def test_the_last_of_several_texts_with_one_name_stays(knowledge: KnowledgeBase) -> None:
    knowledge.add_texts(["One.", "Two.", "One."], sources=["note"] * 3)

    assert contents(knowledge) == {"One."}


def test_texts_without_names_are_told_apart_by_what_they_say(knowledge: KnowledgeBase) -> None:
    knowledge.add_text("One.")
    knowledge.add_text("Two.")
    again = knowledge.add_text("One.")

    assert len(again.unchanged) == 1
    assert contents(knowledge) == {"One.", "Two."}


def test_a_text_that_cannot_be_stored_as_it_is_loses_only_what_is_no_character(
    knowledge: KnowledgeBase,
) -> None:
    knowledge.add_text("lone \ud800 half", source="x")

    assert contents(knowledge) == {"lone ? half"}


def test_a_file_whose_name_is_no_text_is_kept_in_step_like_any_other(
    knowledge: KnowledgeBase, tmp_path: Path
) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("the file system takes only names that are text")
    for name in (b"\xe9.txt", b"\xea.txt"):
        (folder / os.fsdecode(name)).write_text(f"Tea {name!r}.", "utf-8")
    (folder / "plain.txt").write_text("Coffee.", "utf-8")

    added = knowledge.add(folder)
    unchanged = knowledge.add(folder)
    (folder / os.fsdecode(b"\xe9.txt")).unlink()
    gone = knowledge.add(folder)

    assert names(added.added) == ["\\udce9.txt", "\\udcea.txt", "plain.txt"]
    assert (len(unchanged.unchanged), names(gone.removed)) == (3, ["\\udce9.txt"])
    assert contents(knowledge) == {"Coffee.", "Tea b'\\xea.txt'."}
    assert len(knowledge.remove(str(folder)).removed) == 2
    assert str(added).encode()


def test_a_text_whose_name_is_no_text_can_be_found_and_removed(knowledge: KnowledgeBase) -> None:
    knowledge.add_texts(["Tea.", "Coffee."], sources=["\ud800", "\ud801"])

    removed = knowledge.remove("\ud800")

    assert removed.removed == ("\\ud800",)
    assert contents(knowledge) == {"Coffee."}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_file_is_passed_over_in_a_folder_and_a_link_that_leads_nowhere_is_reported(
    knowledge: KnowledgeBase, docs: Path
) -> None:
    os.mkfifo(docs / "pipe.txt")
    (docs / "lost.txt").symlink_to(docs / "nothing.txt")

    report = knowledge.add(docs)

    assert len(report.added) == 3
    assert list(map(str, report.failed)) == [f"{docs}/lost.txt: No such file or directory"]


def test_as_many_names_as_texts_are_asked_for(knowledge: KnowledgeBase) -> None:
    with pytest.raises(ConfigError, match="sources must be as many as texts, 2, got 1"):
        knowledge.add_texts(["a", "b"], sources=["a"])


def test_removing_takes_a_source_or_all_below_a_folder(knowledge: KnowledgeBase, docs: Path) -> None:
    knowledge.add(docs)

    assert names(knowledge.remove(f"{docs}/pandas.md").removed) == ["pandas.md"]
    assert names(knowledge.remove(f"{docs}/").removed) == ["bears.txt", "cities.csv"]
    assert knowledge.remove("nothing") == Ingested()
    assert len(knowledge) == 0


def test_an_exact_identifier_is_found_among_many_like_it(knowledge: KnowledgeBase) -> None:
    knowledge.add_texts([f"Error E{code:05} is raised by module {code % 7}." for code in range(300)])

    best = knowledge.search("What is E00217?")[0]

    assert best.content == "Error E00217 is raised by module 0."


@pytest.mark.parametrize("few", [2_000, 0], ids=["one by one", "by the index"])
def test_what_shares_a_rare_word_is_found_however_far_its_vector_is(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unhelpful(texts: list[str]) -> list[list[float]]:
        return [[1, 0] if "E00217 is" in text else [0, 1] for text in texts]

    monkeypatch.setattr("packline.chroma.rows._FEW", few)
    with KnowledgeBase(embed=unhelpful) as knowledge:
        knowledge.add_texts([f"Error E{code:05} is raised by module {code % 7}." for code in range(300)])

        found = knowledge.search("What is E00217?", limit=300, min_score=0)

    assert "Error E00217 is raised by module 0." in [packet.content for packet in found]


@pytest.mark.parametrize("few", [10_000, 0], ids=["one by one", "by the index"])
def test_no_number_of_equal_texts_hides_the_others(
    few: int, knowledge: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("packline.chroma.rows._FEW", few)
    knowledge.add_texts(["The licence is MIT."] * 1_500, sources=[f"LICENSE-{n}" for n in range(1_500)])
    knowledge.add_texts(["Zebras graze."])

    assert knowledge.search("zebras graze")[0].content == "Zebras graze."


def test_chinese_is_found_by_its_words() -> None:
    with KnowledgeBase() as knowledge:
        knowledge.add_texts(["数据分析工具可以优化内存使用。", "北京今天的天气很好。", "熊吃鱼。"])
        best = knowledge.search("如何优化内存？")[0]

    assert best.content == "数据分析工具可以优化内存使用。"


def test_what_shares_no_word_is_found_by_its_meaning() -> None:
    with KnowledgeBase() as knowledge:
        knowledge.add_texts(["The physician treated the patient.", "Stocks fell.", "Rain is expected."])
        best = knowledge.search("doctor hospital medicine", min_score=0)[0]

    assert best.content == "The physician treated the patient."


def test_a_question_that_has_nothing_to_do_with_the_store_finds_nothing() -> None:
    with KnowledgeBase() as knowledge:
        knowledge.add_texts([f"Recipe {n}: boil the pasta, add garlic and salt." for n in range(30)])

        assert knowledge.search("Which encryption does the satellite protocol negotiate?") == []


def test_an_empty_store_and_an_empty_question_find_nothing(knowledge: KnowledgeBase) -> None:
    assert knowledge.search("anything") == []
    knowledge.add_text("text")
    assert knowledge.search(" ") == []


def test_scores_fall_from_result_to_result_and_stay_within_bounds(knowledge: KnowledgeBase) -> None:
    knowledge.add_texts([f"word{n % 5} word{n % 3} filler {n}" for n in range(60)])

    packets = knowledge.search("word1 word2", limit=60, min_score=0)
    scores = [float(str(packet.metadata["score"])) for packet in packets]

    assert len(packets) == 60
    assert scores == sorted(scores, reverse=True)
    assert 0 <= scores[-1] < scores[0] <= 1
    assert knowledge.search("word1 word2", limit=60, min_score=0) == packets
    assert knowledge.search("word1 word2", 60, scores[10])[-1].metadata["score"] == scores[10]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"limit": 0}, "limit must be a whole number from 1, got 0"),
        ({"limit": True}, "limit must be a whole number from 1, got True"),
        ({"min_score": 1.1}, r"min_score must be a number in \[0, 1\], got 1.1"),
        ({"min_score": float("nan")}, r"min_score must be a number in \[0, 1\], got nan"),
        ({"query": None}, "query must be a string, got None"),
    ],
)
def test_bad_arguments_of_a_search_are_refused(
    knowledge: KnowledgeBase, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        knowledge.search(**{"query": "x", **arguments})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"chunk_tokens": 0}, "chunk_tokens must be a whole number from 1"),
        ({"gather_limit": 0}, "gather_limit must be a whole number from 1"),
        ({"gather_min_score": 2}, r"gather_min_score must be a number in \[0, 1\]"),
        ({"name": "a b"}, "name must be 3 to 400 letters"),
        ({"embed": 3}, "embed must be a callable"),
        ({"client": 3}, "client must be a Chroma client"),
        ({"path": __file__}, "path must be a folder"),
        ({"path": "x", "client": 3}, "path must be left out where a client is given"),
    ],
)
def test_bad_settings_are_refused(embed: Embed, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        KnowledgeBase(**{"embed": embed, **arguments})  # type: ignore[arg-type]


def test_stores_in_memory_never_meet(embed: Embed) -> None:
    with KnowledgeBase(embed=embed) as one, KnowledgeBase(embed=embed) as other:
        one.add_text("mine")

        assert (len(one), len(other)) == (1, 0)
        assert other.search("mine", min_score=0) == []


def test_a_store_on_disk_is_there_again_when_it_is_opened_anew(
    tmp_path: Path, docs: Path, embed: Embed
) -> None:
    with KnowledgeBase(tmp_path / "store", embed=embed) as knowledge:
        report = knowledge.add(docs)
        before = knowledge.search("bears", min_score=0)

    with KnowledgeBase(tmp_path / "store", embed=embed) as knowledge:
        assert knowledge.search("bears", min_score=0) == before
        assert knowledge.add(docs) == Ingested(unchanged=report.added)


def test_a_store_refuses_another_model_and_names_both(tmp_path: Path, embed: Embed) -> None:
    KnowledgeBase(tmp_path, embed=Embedder("first", embed)).close()

    with pytest.raises(ConfigError, match=r"embed must be 'first', the model that filled .*, got 'second'"):
        KnowledgeBase(tmp_path, embed=Embedder("second", embed))

    KnowledgeBase(tmp_path, embed=Embedder("second", embed), name="another").close()


def test_a_store_refuses_vectors_of_another_length(tmp_path: Path, embed: Embed) -> None:
    def shorter(texts: list[str]) -> np.ndarray:
        return embed(texts)[:, :16]

    with KnowledgeBase(tmp_path, embed=Embedder("same", embed)) as knowledge:
        knowledge.add_text("text")

    with KnowledgeBase(tmp_path, embed=Embedder("same", shorter)) as knowledge:
        with pytest.raises(ConfigError, match=r"vectors of same must be of 64 numbers, .* got 16"):
            knowledge.add_text("more")
        with pytest.raises(ConfigError, match=r"vectors of same must be of 64 numbers, .* got 16"):
            knowledge.search("text")


def test_a_collection_of_someone_elses_is_refused(embed: Embed) -> None:
    import chromadb

    with chromadb.EphemeralClient() as client:
        client.create_collection("foreign", embedding_function=None)
        with pytest.raises(ConfigError, match=r"name must be another: .* was not made by packline"):
            KnowledgeBase(client=client, name="foreign", embed=embed)
        client.delete_collection("foreign")


def test_a_model_that_fails_fails_the_adding_and_the_next_one_does_the_rest(
    tmp_path: Path, docs: Path, embed: Embed
) -> None:
    def failing(texts: list[str]) -> np.ndarray:
        raise ConnectionError("the model is away")

    with (
        KnowledgeBase(tmp_path / "s", embed=Embedder("m", failing)) as knowledge,
        pytest.raises(ConnectionError, match="the model is away"),
    ):
        knowledge.add(docs)

    with KnowledgeBase(tmp_path / "s", embed=Embedder("m", embed)) as knowledge:
        assert len(knowledge.add(docs).added) == 3


KILLED = """
import sys
import numpy as np
from pathlib import Path
from packline.chroma import KnowledgeBase
from packline.embedding import Embedder

calls = 0
def embed(texts):
    global calls
    calls += 1
    if calls == 2:
        print("half way", flush=True)
        sys.stdin.read()
    return np.array([[len(text), text.count("e"), 1] for text in texts])

KnowledgeBase(sys.argv[1], embed=Embedder("lengths", embed), chunk_tokens=40).add(sys.argv[2])
"""


def test_a_store_whose_process_was_killed_while_adding_opens_and_completes(tmp_path: Path) -> None:
    def lengths(texts: list[str]) -> np.ndarray:
        return np.array([[len(text), text.count("e"), 1] for text in texts])

    docs, store = tmp_path / "docs", tmp_path / "store"
    docs.mkdir()
    for number in range(12):
        (docs / f"{number:02}.txt").write_text(f"Paragraph {number} says this.\n\n" * 150)
    command = [sys.executable, "-c", KILLED, str(store), str(docs)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "half way\n"
        process.send_signal(signal.SIGKILL)

    with KnowledgeBase(store, embed=Embedder("lengths", lengths), chunk_tokens=40) as knowledge:
        written = len(knowledge)
        report = knowledge.add(docs)
        with KnowledgeBase(embed=Embedder("lengths", lengths), chunk_tokens=40) as other:
            other.add(docs)
            assert len(knowledge) == len(other) > written > 0
        assert len(report.unchanged) + len(report.added) == 12
        assert report.unchanged
        assert report.added
        assert knowledge.add(docs) == Ingested(unchanged=tuple(sorted(report.unchanged + report.added)))


def test_a_file_that_was_half_written_is_written_anew(
    tmp_path: Path, knowledge: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file.txt"
    file.write_text("A sentence of words.\n\n" * 300)
    knowledge.add(file)
    whole = len(knowledge)
    rows = knowledge._collection.rows()
    knowledge._collection.delete([row.id for row in rows[::2]])

    report = knowledge.add(file)

    assert report.added == (str(file),)
    assert len(knowledge) == whole


def test_an_old_version_that_was_not_yet_removed_goes_with_the_next_adding(
    tmp_path: Path, knowledge: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file.txt"
    file.write_text("Old.")
    knowledge.add(file)
    file.write_text("New.")
    with monkeypatch.context() as patch:
        patch.setattr(knowledge._collection, "delete", lambda ids: None)  # killed before it could delete
        knowledge.add(file)
    assert contents(knowledge) == {"Old.", "New."}

    report = knowledge.add(file)

    assert report == Ingested(unchanged=(str(file),))
    assert contents(knowledge) == {"New."}


def test_a_search_sees_what_another_process_has_changed(tmp_path: Path, embed: Embed) -> None:
    code = """
import sys
from packline.chroma import KnowledgeBase
from packline.embedding import Embedder
ones = Embedder("ones", lambda texts: [[1, len(text)] for text in texts])
with KnowledgeBase(sys.argv[1], embed=ones) as knowledge:
    knowledge.add_text(sys.argv[2], source="note")
"""

    def from_elsewhere(text: str) -> None:
        subprocess.run([sys.executable, "-c", code, str(tmp_path), text], check=True)

    def ones(texts: list[str]) -> list[list[int]]:
        return [[1, len(text)] for text in texts]

    with KnowledgeBase(tmp_path, embed=Embedder("ones", ones)) as knowledge:
        knowledge.add_text("zebras graze", source="other")
        assert contents(knowledge) == {"zebras graze"}
        from_elsewhere("the first version")
        assert contents(knowledge) == {"zebras graze", "the first version"}
        from_elsewhere("the second version")
        assert contents(knowledge) == {"zebras graze", "the second version"}


def test_it_is_read_only_once_while_nothing_changes(
    knowledge: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    knowledge.add_texts([f"text {n}" for n in range(50)])
    knowledge.search("text")
    read = []
    original = type(knowledge._collection._handle()).get

    def spy(self: object, **arguments: object) -> object:
        read.append(arguments.get("ids"))
        return original(self, **arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(type(knowledge._collection._handle()), "get", spy)
    knowledge.search("text 7", limit=3)

    assert read == []


def test_many_threads_may_add_and_search_at_once(knowledge: KnowledgeBase) -> None:
    def work(number: int) -> list[bool]:
        seen = []
        for step in range(5):
            knowledge.add_text(f"thread {number} wrote step {step}", source=f"{number}-{step}")
            found = knowledge.search(f"thread {number} step {step}", limit=50, min_score=0)
            seen.append(f"{number}-{step}" in [packet.metadata["source"] for packet in found])
        return seen

    with ThreadPoolExecutor(6) as pool:
        seen = [each for of_thread in pool.map(work, range(6)) for each in of_thread]

    assert seen == [True] * 30
    assert len(knowledge) == 30


def test_more_than_chroma_takes_at_once_is_written_in_parts(knowledge: KnowledgeBase) -> None:
    knowledge._collection._batch = 7
    knowledge.add_texts([f"text number {n}" for n in range(40)])

    assert len(contents(knowledge)) == 40
    knowledge.remove("none")
    for packet in knowledge.search("text", 100, 0):
        knowledge.remove(str(packet.metadata["source"]))
    assert len(knowledge) == 0


def test_a_progress_bar_shows_on_standard_error_only_when_it_is_asked_for(
    knowledge: KnowledgeBase, docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    knowledge.add(docs, progress=None)
    knowledge.add(docs, progress=False)
    assert capsys.readouterr() == ("", "")

    knowledge.add(docs, progress=True)

    out, err = capsys.readouterr()
    assert out == ""
    assert "Reading files" in err
    assert "3/3" in err


def test_it_is_a_source_of_evidence_for_a_builder(knowledge: KnowledgeBase, docs: Path) -> None:
    knowledge.add(docs)

    context = ContextBuilder(sources=[knowledge]).build("How do categories save memory?")

    assert "Use categories to save memory." in context.text
    assert not context.failures


def test_as_a_source_it_gives_many_candidates_and_the_asynchronous_way_the_same(embed: Embed) -> None:
    with KnowledgeBase(embed=embed, gather_limit=12) as knowledge:
        knowledge.add_texts([f"text number {n}" for n in range(40)])

        packets = knowledge.gather("number 7")

        assert len(packets) == 12
        assert asyncio.run(knowledge.agather("number 7")) == packets
        assert (knowledge.name, knowledge.kind) == ("knowledge", Kind.EVIDENCE)


def test_closing_twice_is_no_error_and_a_given_client_stays_open(embed: Embed) -> None:
    import chromadb

    with chromadb.EphemeralClient() as client:
        knowledge = KnowledgeBase(client=client, embed=embed, name="closing")
        knowledge.add_text("text")
        knowledge.close()
        knowledge.close()

        assert client.get_collection("closing", embedding_function=None).count() == 1
        client.delete_collection("closing")


def test_a_store_in_memory_leaves_nothing_behind(embed: Embed) -> None:
    import chromadb

    with chromadb.EphemeralClient() as client:
        before = client.count_collections()
        knowledge = KnowledgeBase(embed=embed)
        assert client.count_collections() == before + 1
        del knowledge

        assert client.count_collections() == before


def test_the_report_reads_as_a_sentence() -> None:
    assert str(Ingested(added=("a", "b"), unchanged=("c",))) == "2 added, 1 unchanged"
    assert str(Ingested()) == "nothing to add"
    with pytest.raises(dataclasses.FrozenInstanceError):
        Ingested().added = ()  # type: ignore[misc]


def test_an_empty_store_is_still_a_store(knowledge: KnowledgeBase) -> None:
    assert len(knowledge) == 0
    assert knowledge
