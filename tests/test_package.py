"""What a user gets by installing and importing, before any function is called."""

import importlib
import os
import re
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import pytest
from packaging.version import Version

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = ("packline", "langchain_packline", "llama_index_packline")

# Runs in a fresh interpreter: imports a package, fails on any socket, prints the modules it loaded.
IMPORT_AND_LIST = """
import sys

def refuse(event, args):
    if event.startswith("socket."):
        raise RuntimeError(f"{event} during import")

sys.addaudithook(refuse)
__import__(sys.argv[1])
print(*sys.modules)
"""


def loaded_by_importing(package: str) -> set[str]:
    """The top-level modules in an interpreter that has done nothing but import `package`."""
    completed = subprocess.run(
        [sys.executable, "-c", IMPORT_AND_LIST, package], capture_output=True, text=True, timeout=120
    )
    assert completed.returncode == 0, completed.stderr
    return {name.partition(".")[0] for name in completed.stdout.split()}


def test_importing_the_core_loads_no_framework_no_store_no_model_and_opens_no_socket():
    loaded = loaded_by_importing("packline")

    assert "packline" in loaded
    unwanted = re.compile(
        r"langchain|langgraph|llama_index|chromadb|wordllama|matplotlib|typer|rich|pydantic"
    )
    assert sorted(filter(unwanted.match, loaded)) == []


def test_importing_the_langchain_package_loads_langchain_core_alone():
    loaded = loaded_by_importing("langchain_packline")

    assert "langchain_packline" in loaded
    unwanted = re.compile(r"langchain$|langgraph|langchain_chroma|llama_index|chromadb|wordllama|matplotlib")
    assert sorted(filter(unwanted.match, loaded)) == []


def test_importing_the_llama_index_package_loads_llama_index_core_alone():
    loaded = loaded_by_importing("llama_index_packline")

    assert "llama_index_packline" in loaded
    unwanted = re.compile(r"langchain|langgraph|chromadb|wordllama|matplotlib")
    assert sorted(filter(unwanted.match, loaded)) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_all_lists_exactly_the_public_names(package: str):
    module = importlib.import_module(package)

    public = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }

    assert set(module.__all__) == public
    assert len(set(module.__all__)) == len(module.__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_says_that_it_is_typed(package: str):
    module = importlib.import_module(package)

    assert (Path(module.__file__).parent / "py.typed").is_file()


@pytest.mark.skipif(
    os.environ.get("PACKLINE_INSTALLED") != "wheel", reason="runs against the built wheel only"
)
@pytest.mark.parametrize("package", PACKAGES)
def test_the_wheel_is_what_is_tested(package: str):
    module = importlib.import_module(package)

    assert ROOT / ".venv-wheel" in Path(module.__file__).parents


def test_the_lowest_versions_tested_are_the_lower_ends_of_the_ranges():
    pins = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8")
    extras = PYPROJECT["project"]["optional-dependencies"]
    shipped = [*PYPROJECT["project"]["dependencies"], *(line for name in extras for line in extras[name])]
    tools = {*extras["dev"], *extras["bench"]}

    lower_ends = re.findall(r"^([\w-]+)>=([\w.]+)", "\n".join(set(shipped) - tools), re.MULTILINE)
    pinned = dict(re.findall(r"^([\w-]+)==([\w.]+)$", pins, re.MULTILINE))

    assert {name: Version(pinned[name]) for name, _ in lower_ends} == {
        name: Version(lower_end) for name, lower_end in lower_ends
    }


def test_pytorch_is_in_no_environment():
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").lower()

    assert not re.search(r"^(torch|nvidia|triton|cuda)", pins, re.MULTILINE)


def test_constraints_hold_versions_and_no_addresses():
    for name in ("constraints.txt", "constraints-lowest.txt"):
        lines = (ROOT / name).read_text(encoding="utf-8").splitlines()

        pins = [line for line in lines if line and not line.startswith("#")]

        assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
