"""The command line as a process: exit codes, pipes, help, and what it says where something is missing."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

BASE = ("--counter", "approximate", "--now", "2026-01-15T12:00:00Z")


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


def test_the_version_is_that_of_the_package():
    shown = packline("--version")

    assert (shown.returncode, shown.stdout) == (0, f"packline {version('packline')}\n")


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


def test_a_question_from_a_pipe_that_is_no_text_is_refused_and_a_mark_before_it_is_none_of_it():
    command = [sys.executable, "-m", "packline", "build", *BASE]

    bad = subprocess.run(command, input=b"caf\xe9?", capture_output=True, timeout=120, check=False)
    marked = subprocess.run(
        command, input="\ufeffWhy?\r\nHow?\r\n".encode(), capture_output=True, timeout=120, check=False
    )

    assert bad.returncode == 1
    assert bad.stderr == b"packline: standard input: not text in utf-8: byte 3\n"
    assert marked.stdout.startswith(b"[Task]\nWhy?\nHow?\n\n")


def test_what_a_library_logs_is_not_printed_beside_the_warning(tmp_path: Path):
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 broken")

    done = packline("build", "Why?", "--docs", str(tmp_path), *BASE)

    broken, none = done.stderr.splitlines()
    assert broken.startswith(f"packline: warning: {tmp_path / 'broken.pdf'}: ")
    assert none.startswith(f"packline: warning: no documents in {tmp_path}: expected .md, ")


@pytest.mark.skipif(os.name == "nt", reason="a shell that closes streams is needed")
@pytest.mark.parametrize(("closed", "code"), [(">&-", 0), ("2>&-", 0), ("<&-", 0)])
def test_a_closed_stream_is_no_error(closed: str, code: int):
    command = f'"{sys.executable}" -m packline build "Why?" {" ".join(BASE)} {closed}'

    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=120, check=False)

    assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_told_in_one_line():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "packline", "build", "Why?", *BASE],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )

    assert (done.returncode, done.stderr) == (1, "packline: No space left on device\n")


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
