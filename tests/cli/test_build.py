"""`packline build`: what it prints where, and what it says when something is wrong."""

import io
import json
import os
import sys
from pathlib import Path

import pytest

from packline.chroma import KnowledgeBase, MemoryStore
from packline.cli.app import run

BASE = ("--counter", "approximate", "--now", "2026-01-15T12:00:00Z")


def build(*arguments: str) -> int:
    """`packline build` with a fixed clock, and a counter that needs no vocabulary."""
    return run(["build", *arguments, *BASE])


@pytest.fixture
def memories(tmp_path: Path) -> Path:
    """Three memories in three kinds of files."""
    folder = tmp_path / "memories"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"content": "The rain gauge holds 0.2 mm a tip."}\n\n', "utf-8")
    (folder / "b.json").write_text('["The rain gauge stands on the roof."]', "utf-8")
    (folder / "c.md").write_text("The rain gauge was cleaned in May.\n", "utf-8")
    return folder


# --- build: what is printed where ---


def test_the_prompt_alone_goes_to_standard_output(capsys: pytest.CaptureFixture[str]):
    code = build("How much rain?", "--instructions", "Be brief.")

    out, err = capsys.readouterr()
    assert code == 0
    assert out.startswith("[Role & Policies]\nBe brief.\n\n[Task]\nHow much rain?\n\n[Output]\n")
    assert err == ""


def test_the_account_goes_to_standard_error(capsys: pytest.CaptureFixture[str]):
    assert build("How much rain?") == 0
    plain = capsys.readouterr().out

    assert build("How much rain?", "--explain") == 0

    out, err = capsys.readouterr()
    assert out == plain
    assert err.startswith("Question  How much rain?\nTokens    ")


def test_json_holds_prompt_and_account(capsys: pytest.CaptureFixture[str], memories: Path):
    assert build("How large is the rain gauge?", "--memory", str(memories), "--json") == 0

    data = json.loads(capsys.readouterr().out)
    assert data["version"] == 1
    assert data["now"] == "2026-01-15T12:00:00+00:00"
    assert "Memory: The rain gauge holds 0.2 mm a tip." in data["text"]
    assert {entry["content"] for entry in data["kept"]} == {
        "The rain gauge holds 0.2 mm a tip.",
        "The rain gauge stands on the roof.",
        "The rain gauge was cleaned in May.",
    }
    assert {entry["source"] for entry in data["kept"]} == {"memory"}


def test_html_is_written_as_a_page_of_its_own(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    page = tmp_path / "report.html"

    assert build("Wie viel Regen fällt?", "--html", str(page)) == 0

    assert page.read_text("utf-8").startswith('<!doctype html><html lang="en"><head><meta charset="utf-8">')
    assert "Wie viel Regen fällt?" in page.read_text("utf-8")


def test_a_terminal_is_not_controlled_by_a_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    question = "red \x1b[31m and \u202eback"
    assert build(question) == 0
    piped = capsys.readouterr().out

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert build(question) == 0

    assert question in piped
    assert "red \\x1b[31m and \\u202eback" in capsys.readouterr().out


# --- build: questions, conversations, settings ---


@pytest.mark.parametrize("argument", [[], ["-"]])
def test_a_question_comes_from_a_pipe(
    argument: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "stdin", io.StringIO("How much rain?\n"))

    assert build(*argument) == 0

    assert "[Task]\nHow much rain?\n\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    "history",
    [
        '[{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]',
        '[["user", "Hi."], ["assistant", "Hello."]]',
        '\ufeff{"messages": [["human", "Hi."], ["ai", "Hello."]]}',
        '["user", "Hi."]\r\n\r\n{"role": "assistant", "content": "Hello."}\r\n',
    ],
)
def test_a_conversation_is_read_in_each_of_its_forms(
    history: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / ("chat.jsonl" if history.endswith("\n") else "chat.json")
    path.write_bytes(history.encode())

    assert build("And now?", "--history", str(path)) == 0

    assert "[Context]\nuser: Hi.\nassistant: Hello.\n\n" in capsys.readouterr().out


def test_instructions_come_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "instructions.txt"
    path.write_text("Answer in Latin.", "utf-8")

    assert build("Why?", "--instructions", f"@{path}") == 0

    assert capsys.readouterr().out.startswith("[Role & Policies]\nAnswer in Latin.\n\n")


def test_settings_come_from_a_file_and_options_go_before_them(
    tmp_path: Path, memories: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "strict.toml"
    path.write_text('max_tokens = 90\nrelevance = "jaccard"\nmin_relevance = 0.9', "utf-8")
    settings = ("--config", str(path), "--memory", str(memories), "--json")

    assert build("Where is the rain gauge?", *settings) == 0
    data = json.loads(capsys.readouterr().out)
    assert build("Where is the rain gauge?", *settings, "--max-tokens", "120", "--relevance", "lexical") == 0
    changed = json.loads(capsys.readouterr().out)

    def relevance(account: dict[str, list[dict[str, object]]]) -> object:
        entries = [*account["kept"], *account["dropped"]]
        return next(entry["relevance"] for entry in entries if "roof" in str(entry["content"]))

    assert data["max_tokens"] == 90
    assert {entry["reason"] for entry in data["dropped"]} == {"below_min_relevance"}
    assert relevance(data) == 2 / 9  # Jaccard, as in the book: "the", "rain" of nine words
    assert changed["max_tokens"] == 120
    assert relevance(changed) != relevance(data)


def test_an_explicit_budget_goes_before_any_in_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "share.toml"
    path.write_text("max_tokens = 0.25  # of a window that is not given", "utf-8")

    alone = build("Why?", "--config", str(path))
    assert "context_window must be given where max_tokens is a share of it" in capsys.readouterr().err
    explicit = build("Why?", "--config", str(path), "--max-tokens", "300", "--json")

    assert (alone, explicit) == (1, 0)
    assert json.loads(capsys.readouterr().out)["max_tokens"] == 300


# --- build: what goes wrong ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "Why?", "--max-tokens", "0"], "--max-tokens"),
        (["build", "Why?", "--docs", "nowhere"], "nowhere"),
        (["build", "Why?", "--relevance", "magic"], "--relevance must be one of lexical, "),
        (["build", "Why?", "--bogus"], "--bogus"),
        (["build", "Why?", "--instructions", "@"], "--instructions @: expected the name of a file"),
        (["build", "Why?", "--now", "soon"], "2026-01-31T12:00"),
        (["build", "Why?", "--counter", "abacus"], "--counter must be an encoding"),
        (["build", " ", *BASE], "QUESTION must be a text that is not empty, got ' '"),
        (["build", "what", "is", "x?"], """'is': put a text of many words in quotes, as in "what is x?" """),
        (["build", "--docs", __file__, "Why?", __file__], "put --docs before each path"),
        (["compare", __file__, "--variant", __file__, "nowhere"], "put --variant before each path"),
        (["build", "Why?", "--html", ""], "'--html': expected a file, got an empty text"),
        (["build", "Why?", "--docs", ""], "'--docs': expected a file or folder, got an empty text"),
        (["build", "Why?", "--store", ""], "'--store': expected a folder, got an empty text"),
        (["build", "Why?", "--store", __file__], "'--store': expected a folder, got the file"),
        (["build", "Why?", "--html", "."], "'--html': expected a file, got the folder '.'"),
        (["build", "Why?", "--memory", "nowhere"], "expected a file or folder, but there is no 'nowhere'"),
        (["bild"], "bild"),
        (["compare"], "Missing "),
    ],
)
def test_a_wrong_command_line_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
):
    code = run(arguments)

    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert message in err
    assert err.startswith("packline: ")
    assert err.endswith(" (see --help)\n")
    assert err.count("\n") == 1


def test_an_empty_pipe_is_no_question(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))

    assert build() == 2

    assert "from a pipe: standard input is empty (see --help)" in capsys.readouterr().err


def test_an_interrupted_command_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    def interrupted() -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.stdin, "read", interrupted)

    code = build("-")

    out, err = capsys.readouterr()
    assert (code, out, err.strip()) == (130, "", "packline: interrupted")


def test_what_is_wrong_is_said_before_any_document_is_read(manual: Path, tmp_path: Path):
    store = tmp_path / "store"

    code = build("Why?", "--docs", str(manual), "--store", str(store), "--instructions", "@nowhere")

    assert code == 1
    assert not store.exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "chat.json",
            b'[["user", "Hi."],\n["assistant" "Hello."]]',
            "chat.json:2:14: not JSON: Expecting ',' delimiter",
        ),
        ("chat.json", b"[1]", "chat.json: conversation_history[0] must be a dict with role and content"),
        ("chat.json", b'"Hi."', "chat.json: not a conversation: expected a list of messages"),
        ("chat.json", b"[\xff]", "chat.json: not UTF-8 text: byte 1 is 0xff"),
        ("chat.json", b"[" * 100_000, "chat.json:1: not read: nested too deep"),
        ("s.toml", b"max_tokens 5", "s.toml: not TOML: "),
        ("s.toml", b"max_token = 5", "s.toml: option of ContextConfig must be one of"),
        ("s.toml", b"max_tokens = -5", "s.toml: max_tokens must be a whole number from 1"),
        (
            "s.toml",
            b"relevance = 5",
            "s.toml: relevance must be one of lexical, semantic, hybrid, jaccard, got 5",
        ),
        ("s.toml", b'relevance = "magic"', "s.toml: relevance must be one of lexical, semantic, "),
        ("m.jsonl", b'"One."\n\n{"text" "Two."}', "m.jsonl:3:9: not JSON"),
        ("m.jsonl", b'"One."\n{"importance": 1}', "m.jsonl:2: not a memory: "),
        ("m.csv", b"One.", "m.csv: not read: expected .json, .jsonl, .md or .txt files"),
    ],
)
def test_a_bad_file_is_named_with_the_place_in_one_line(
    name: str, content: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / name
    path.write_bytes(content)
    option = {"c": "--history", "s": "--config", "m": "--memory"}[name[0]]

    code = build("Why?", option, str(path))

    out, err = capsys.readouterr()
    assert code == 1
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


def test_a_budget_too_small_for_the_question_fails_with_both_numbers(capsys: pytest.CaptureFixture[str]):
    code = build("Why?", "--max-tokens", "5")

    assert code == 1
    assert "tokens but the budget is 5: shorten [Output], the largest, or raise" in capsys.readouterr().err


def test_with_strict_settings_the_failures_of_sources_end_the_build_in_one_line(
    manual: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    settings = tmp_path / "strict.toml"
    settings.write_text("strict = true\nsource_timeout = 1e-9", "utf-8")

    code = build("Why?", "--docs", str(manual / "gauge.md"), "--config", str(settings))

    out, err = capsys.readouterr()
    assert (code, out) == (1, "")
    assert err == "packline: sources failed: knowledge: TimeoutError: no answer within 1e-09 s\n"


def test_a_page_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "no" / "report.html"

    code = build("Why?", "--html", str(path))

    assert code == 1
    assert capsys.readouterr().err == f"packline: {path}: No such file or directory\n"


def test_documents_without_chroma_say_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "chromadb", None)

    code = build("Why?", "--docs", str(tmp_path))

    err = capsys.readouterr().err
    assert code == 1
    assert 'pip install "packline[chroma]"' in err
    assert err.count("\n") == 1


# --- build: documents and stores ---


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    """Two documents that can be read and one that cannot."""
    folder = tmp_path / "manual"
    folder.mkdir()
    (folder / "gauge.md").write_text("# Rain gauge\n\nThe rain gauge holds 0.2 mm a tip.\n", "utf-8")
    (folder / "bees.txt").write_text("Bees sleep at night.\n", "utf-8")
    (folder / "broken.pdf").write_bytes(b"no PDF at all")
    return folder


def test_documents_become_evidence_and_what_cannot_be_read_is_a_warning(
    manual: Path, capsys: pytest.CaptureFixture[str]
):
    assert build("What does the rain gauge hold?", "--docs", str(manual), "--json") == 0

    out, err = capsys.readouterr()
    data = json.loads(out)
    assert ["rain gauge holds" in entry["content"] for entry in data["kept"]] == [True]
    assert data["kept"][0]["metadata"]["source"].endswith("gauge.md")
    assert [entry["content"] for entry in data["dropped"]] == ["Bees sleep at night."]
    assert err.startswith("packline: warning: ")
    assert "broken.pdf" in err
    assert err.count("\n") == 1


def test_a_folder_without_documents_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert build("Why?", "--docs", str(tmp_path)) == 0

    assert capsys.readouterr().err == (
        f"packline: warning: no documents in {tmp_path}: "
        "expected .md, .markdown, .txt, .rst, .html, .htm, .pdf, .ipynb, .csv\n"
    )


def test_a_store_that_is_not_there_is_not_made_where_no_documents_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    store = tmp_path / "store"

    code = build("Why?", "--store", str(store))

    assert code == 1
    assert capsys.readouterr().err.startswith(f"packline: {store}: no store yet: name the documents ")
    assert not store.exists()


def test_a_store_without_documents_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    KnowledgeBase(tmp_path).close()

    assert build("Why?", "--store", str(tmp_path)) == 0

    assert capsys.readouterr().err == f"packline: warning: no documents in {tmp_path}\n"


def test_a_larger_budget_gets_more_documents_to_choose_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    for number in range(60):
        (tmp_path / f"{number}.txt").write_text(f"Rain gauge {number} holds {number / 10} mm.", "utf-8")

    def candidates(budget: str) -> int:
        assert (
            build("What holds a rain gauge?", "--docs", str(tmp_path), "--max-tokens", budget, "--json") == 0
        )
        account = json.loads(capsys.readouterr().out)
        return len(account["kept"]) + len(account["dropped"]) + len(account["shortened"])

    assert candidates("3000") == 30
    assert candidates("9000") == 56


def test_a_store_keeps_the_documents_for_the_next_run(
    manual: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    store = str(tmp_path / "store")
    question = "What does the rain gauge hold?"

    assert build(question, "--docs", str(manual / "gauge.md"), "--store", store) == 0
    first = capsys.readouterr().out
    assert build(question, "--store", store) == 0

    assert "The rain gauge holds 0.2 mm a tip." in first
    assert capsys.readouterr().out == first


# --- build: memories ---


def test_a_bad_entry_in_a_folder_of_memories_is_a_warning_and_the_others_are_used(
    memories: Path, capsys: pytest.CaptureFixture[str]
):
    (memories / "d.jsonl").write_text('"The rain gauge is blue."\n{bad\n{"importance": 1}\n', "utf-8")
    (memories / "e.json").write_text('["The rain gauge was red.", 5]', "utf-8")
    (memories / "f.txt").write_bytes(b"\xe9 is no UTF-8")
    expected = "expected a text or an object with content"

    code = build("What of the rain gauge?", "--memory", str(memories))

    out, err = capsys.readouterr()
    assert code == 0
    assert out.count("Memory: The rain gauge") == 5
    assert err.replace(str(memories), "DIR").splitlines() == [
        "packline: warning: DIR/d.jsonl:2:2: not JSON: Expecting property name enclosed in double quotes",
        f"packline: warning: DIR/d.jsonl:3: not a memory: {expected}, got {{'importance': 1}}",
        f"packline: warning: DIR/e.json: entry 2: not a memory: {expected}, got 5",
        "packline: warning: DIR/f.txt: not UTF-8 text: byte 0 is 0xe9: save the file as UTF-8",
    ]


@pytest.mark.parametrize("name", [None, ".hidden.md", "empty.txt", "other.pdf", "empty.jsonl"])
def test_a_folder_without_memories_is_a_warning(
    name: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    if name is not None:
        (tmp_path / name).write_text("" if "empty" in name else "Bees sleep at night.", "utf-8")

    code = build("Do bees sleep?", "--memory", str(tmp_path))

    out, err = capsys.readouterr()
    assert code == 0
    assert "Bees" not in out
    assert err.startswith(f"packline: warning: no memories in {tmp_path}: expected .json, ")
    assert err.count("\n") == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_file_is_passed_over_in_a_folder_of_memories(
    memories: Path, capsys: pytest.CaptureFixture[str]
):
    os.mkfifo(memories / "pipe.txt")
    (memories / "lost.md").symlink_to(memories / "nothing.md")

    assert build("What of the rain gauge?", "--memory", str(memories)) == 0

    out, err = capsys.readouterr()
    assert out.count("Memory: The rain gauge") == 3
    assert err == f"packline: warning: {memories}/lost.md: No such file or directory\n"


def test_memories_are_read_whatever_the_case_of_the_ending_and_in_the_encoding_that_they_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "A.JSONL").write_bytes(
        '"The rain gauge is blue."\r\n"The rain gauge is ten."\r\n'.encode("utf-16")
    )
    (tmp_path / "B.TXT").write_bytes("\ufeffThe rain gauge\r\nis old.\r\n".encode())
    (tmp_path / "c.md").mkdir()

    code = build("What of the rain gauge?", "--memory", str(tmp_path), "--json")

    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    assert {entry["content"] for entry in json.loads(out)["kept"]} == {
        "The rain gauge is blue.",
        "The rain gauge is ten.",
        "The rain gauge\nis old.",
    }


def test_a_user_without_memories_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with MemoryStore(tmp_path, user_id="ada") as memory:
        memory.add("The rain gauge holds 0.2 mm.")

    code = build("What does the rain gauge hold?", "--memory", str(tmp_path))

    assert code == 0
    assert capsys.readouterr().err == (
        f"packline: warning: no memories of 'default' in {tmp_path}: name another with --user\n"
    )


def test_a_memory_store_gives_the_memories_of_one_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for user in ("ada", "bob"):
        with MemoryStore(tmp_path, user_id=user) as memory:
            memory.add(f"The rain gauge of {user} holds 0.2 mm.", importance=0.9)

    assert build("What does the rain gauge hold?", "--memory", str(tmp_path), "--user", "ada") == 0

    out = capsys.readouterr().out
    assert "Memory: The rain gauge of ada holds 0.2 mm." in out
    assert "bob" not in out
