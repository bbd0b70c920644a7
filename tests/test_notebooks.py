"""Every notebook runs from top to bottom, offline, and its closing asserts hold."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"

# A kernel is a process of its own: the limits of the test run have to be set there again.
OFFLINE = """
import os, pytest_socket
pytest_socket.socket_allow_hosts(["127.0.0.1", "::1"], allow_unix_socket=True)
os.environ.pop("TIKTOKEN_CACHE_DIR", None)
"""


def run(notebook: nbformat.NotebookNode, folder: Path) -> None:
    """Run the cells of `notebook` in a fresh kernel that starts in `folder` and reaches no network."""
    notebook.cells.insert(0, nbformat.v4.new_code_cell(OFFLINE))
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs_offline_to_its_end(path: Path):
    notebook = nbformat.read(path, as_version=4)

    assert "assert " in notebook.cells[-1].source, "the last cell states what the notebook has shown"
    run(notebook, path.parent)


def test_a_notebook_that_reaches_for_the_network_is_refused(tmp_path: Path):
    cell = nbformat.v4.new_code_cell(
        "import socket, pytest_socket\n"
        "try:\n"
        "    socket.create_connection(('192.0.2.1', 80), timeout=1)\n"
        "except pytest_socket.SocketConnectBlockedError:\n"
        "    print('refused')"
    )
    notebook = nbformat.v4.new_notebook(cells=[cell])

    run(notebook, tmp_path)

    assert notebook.cells[1].outputs[0].text == "refused\n"
