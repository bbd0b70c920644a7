"""The command line: what it prints where, what it says when something is wrong, and its exit codes."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from packline import ContextBuilder, ContextConfig, ContextPacket
from packline.chroma import MemoryStore
from packline.cli.app import run
from packline.cli.cases import Case, read_cases, spread
from packline.cli.compare import interval, recall

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
    ],
)
def test_a_conversation_is_read_in_each_of_its_forms(
    history: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "chat.json"
    path.write_text(history, "utf-8")

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


# --- build: what goes wrong ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "Why?", "--max-tokens", "0"], "--max-tokens"),
        (["build", "Why?", "--docs", "nowhere"], "nowhere"),
        (["build", "Why?", "--relevance", "magic"], "magic"),
        (["build", "Why?", "--bogus"], "--bogus"),
        (["build", "Why?", "--now", "soon"], "2026-01-31T12:00"),
        (["build", "Why?", "--counter", "abacus"], "'approximate', got 'abacus'"),
        (["build", " ", *BASE], "a text that is not empty"),
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
        ("s.toml", b"relevance = 5", "s.toml: relevance must be the name of a scorer, got 5"),
        ("m.jsonl", b'"One."\n\n{"text" "Two."}', "m.jsonl:3:9: not JSON"),
        ("m.jsonl", b'"One."\n{"importance": 1}', "m.jsonl:2: not a memory: "),
        ("m.csv", b"One.", "m.csv: no memories: expected .json, .jsonl, .md or .txt files"),
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

    assert capsys.readouterr().err == f"packline: warning: no documents in {tmp_path}\n"


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


def test_a_memory_store_gives_the_memories_of_one_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for user in ("ada", "bob"):
        with MemoryStore(tmp_path, user_id=user) as memory:
            memory.add(f"The rain gauge of {user} holds 0.2 mm.", importance=0.9)

    assert build("What does the rain gauge hold?", "--memory", str(tmp_path), "--user", "ada") == 0

    out = capsys.readouterr().out
    assert "Memory: The rain gauge of ada holds 0.2 mm." in out
    assert "bob" not in out


# --- compare ---


def candidate(name: str, content: str, **fields: object) -> dict[str, object]:
    """A candidate of a case."""
    return {"id": name, "content": content, **fields}


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    """Two cases that can be scored and two that cannot; one has its candidates in the shared file."""
    near, far = candidate("near", "The gauge holds 0.2 mm of rain."), candidate("far", "Bees sleep at night.")
    turn = candidate("turn", "We clean the gauge in May.", kind="history", role="user")
    lines = [
        {"id": "one", "query": "What does the gauge hold?", "evidence": ["near"], "candidates": [near, far]},
        {"id": "two", "query": "When do we clean the gauge?", "evidence": ["turn", "far"], "corpus_id": "c"},
        {"id": "open", "query": "Why?", "evidence": ["x"], "answerable": False},
        {"id": "none", "query": "Why?", "evidence": []},
    ]
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    shared = {"corpus_id": "c", "candidates": [turn, far]}
    (tmp_path / "cases.corpora.jsonl").write_text(json.dumps(shared) + "\n", "utf-8")
    return path


@pytest.fixture
def variants(tmp_path: Path) -> list[str]:
    """Options for two variants: one that keeps what is relevant, one that keeps nothing."""
    (tmp_path / "usual.toml").write_text('relevance = "lexical"', "utf-8")
    (tmp_path / "nothing.toml").write_text("min_relevance = 1.0\nrecent_turns = 0", "utf-8")
    return [f"--variant={tmp_path / name}.toml" for name in ("usual", "nothing")]


def test_compare_gives_recall_and_the_paired_difference(
    cases: Path, variants: list[str], capsys: pytest.CaptureFixture[str]
):
    code = run(["compare", str(cases), *variants, "--counter", "approximate", "--json"])

    data = json.loads(capsys.readouterr().out)
    usual, nothing = data["variants"]
    assert code == 0
    assert data["cases"] == 2
    assert (usual["name"], usual["recall"], usual["full"]) == ("usual", 0.75, 0.5)
    assert (usual["difference"], usual["interval"]) == (None, None)
    assert (nothing["name"], nothing["recall"], nothing["full"]) == ("nothing", 0.0, 0.0)
    assert (nothing["difference"], nothing["interval"]) == (-0.75, [-1.0, -0.5])
    assert usual["tokens"] > nothing["tokens"] > 0


def test_compare_prints_a_table(cases: Path, variants: list[str], capsys: pytest.CaptureFixture[str]):
    code = run(["compare", str(cases), *variants, "--counter", "approximate"])

    out = capsys.readouterr().out
    assert code == 0
    assert out.startswith("2 cases\n")
    assert "Recall %" in out
    assert "-75.0 [-100.0, -50.0]" in out


def test_questions_that_exceed_the_budget_count_as_not_found_and_are_told(
    cases: Path, variants: list[str], capsys: pytest.CaptureFixture[str]
):
    code = run(["compare", str(cases), variants[0], "--counter", "approximate", "--max-tokens", "5"])

    out = capsys.readouterr().out
    assert code == 0
    assert "usual: 2 questions alone exceed the budget" in out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"query": "Why?"}', "cases.jsonl:1: no evidence: expected query, evidence"),
        (
            '{"query": "Why?", "evidence": ["a"]}',
            "cases.jsonl:1: no candidates: expected candidates, or a corpus_id",
        ),
        ('{"query": "Why?", "evidence": ["a"], "candidates": 5}', "cases.jsonl:1: expected a list, got 5"),
        ('{"query": "Why?", "evidence": ["a"], "candidates": [{"id": "a"}]}', "cases.jsonl:1: no content"),
        (
            '{"query": "W?", "evidence": ["a"], "candidates": [{"id": "a", "content": 5}]}',
            "candidate 'a': content must",
        ),
        ("[]", "cases.jsonl:1: expected an object with query, evidence"),
        ("{", "cases.jsonl:1:2: not JSON"),
        ("", "cases.jsonl: no cases: expected lines with query and evidence"),
    ],
)
def test_a_bad_case_is_named_with_its_line(
    line: str, message: str, tmp_path: Path, variants: list[str], capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "cases.jsonl"
    path.write_text(line, "utf-8")

    code = run(["compare", str(path), variants[0]])

    err = capsys.readouterr().err
    assert code == 1
    assert message in err
    assert err.count("\n") == 1


def test_evidence_counts_only_where_it_stands_whole():
    texts = {"kept": "The gauge holds 0.2 mm.", "far": "Bees sleep at night."}
    packets = tuple(ContextPacket(text, kind="evidence", id=name) for name, text in texts.items())
    builder = ContextBuilder(config=ContextConfig(max_tokens=200), token_counter="approximate")
    context = builder.build("What does the gauge hold?", custom_packets=packets)

    def found(*groups: set[str]) -> float:
        return recall(Case("1", "?", packets, tuple(map(frozenset, groups))), context)

    assert found({"kept"}) == 1.0
    assert found({"far"}) == 0.0
    assert found({"far", "kept"}) == 1.0
    assert found({"far"}, {"kept"}) == 0.5


def test_evidence_merged_into_the_same_words_counts_as_found():
    packets = [
        ContextPacket("The gauge holds 0.2 mm.", kind="evidence", id="first"),
        ContextPacket("The  gauge holds\n0.2 mm.", kind="evidence", id="second"),
    ]
    builder = ContextBuilder(config=ContextConfig(max_tokens=200), token_counter="approximate")
    context = builder.build("What does the gauge hold?", custom_packets=packets)

    assert len(context.kept) == 1
    for name in ("first", "second"):
        assert recall(Case("1", "?", tuple(packets), (frozenset({name}),)), context) == 1.0


def test_a_sample_is_spread_over_the_file(cases: Path):
    found = read_cases(cases) * 3

    assert [case.id for case in spread(found, 2)] == ["one", "two"]
    assert spread(found, 99) == found
    assert spread(found, None) == found


def test_the_interval_is_that_of_the_mean_of_the_differences():
    random = np.random.default_rng(7)
    differences = random.normal(0.1, 0.5, size=400)

    low, high = interval(differences)

    error = differences.std() / np.sqrt(400)
    assert low == pytest.approx(differences.mean() - 1.96 * error, abs=0.005)
    assert high == pytest.approx(differences.mean() + 1.96 * error, abs=0.005)


# --- as a process ---


def packline(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """The command line as a process of its own."""
    command = [sys.executable, "-m", "packline", *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, **options)  # type: ignore[call-overload,no-any-return]


def test_exit_codes_are_those_of_the_process():
    done = packline("build", "Why?", *BASE)
    failed = packline("build", "Why?", "--max-tokens", "5", *BASE)
    wrong = packline("build", "Why?", "--max-tokens", "many")

    assert (done.returncode, failed.returncode, wrong.returncode) == (0, 1, 2)
    assert done.stdout.startswith("[Task]\nWhy?\n")
    assert "Traceback" not in failed.stderr + wrong.stderr


def test_help_shows_options_and_an_example():
    shown = packline("build", "--help", env={**os.environ, "COLUMNS": "100"})
    bare = packline()

    assert shown.returncode == 0
    assert "--max-tokens" in shown.stdout
    assert 'packline build "How do I clean the gauge?" --docs manual/ --explain' in shown.stdout
    assert bare.returncode == 2
    assert "compare" in bare.stdout


def test_a_question_in_any_script_survives_a_pipe_and_a_poor_locale():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}

    utf8 = packline("build", *BASE, input="雨量计怎么校准？", env={**os.environ, "PYTHONUTF8": "1"})
    ascii_only = packline("build", "雨量计怎么校准？", *BASE, env=environment)

    assert "[Task]\n雨量计怎么校准？\n" in utf8.stdout
    assert ascii_only.returncode == 0
    assert "\\u96e8" in ascii_only.stdout


def test_a_reader_that_has_seen_enough_ends_the_command_quietly(tmp_path: Path):
    long = tmp_path / "long.txt"
    long.write_text("x" * 1_000_000)
    command = [sys.executable, "-m", "packline", "build", "Why?", "--instructions", f"@{long}", *BASE]
    command += ["--max-tokens", "1000000"]

    # Without a buffer Python would not notice that only a part was written.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        errors = process.stderr.read()

    assert process.returncode == 0
    assert errors == b""


def test_without_typer_one_line_says_what_to_install(tmp_path: Path):
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError(\"No module named 'typer'\", name='typer')")

    done = packline("build", "Why?", env={**os.environ, "PYTHONPATH": str(tmp_path)})

    assert done.returncode == 1
    assert done.stderr == 'packline: the command line needs typer: pip install "packline[cli]"\n'
