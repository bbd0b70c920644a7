"""The command line: `packline build`, `packline compare`."""

from __future__ import annotations

import logging
import sys


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    # What goes wrong is told by the command itself; the logs of libraries would say it once more.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        from packline.cli.app import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("typer", "rich"):
            raise
        print(f'packline: the command line needs {error.name}: pip install "packline[cli]"', file=sys.stderr)
        sys.exit(1)
    sys.exit(run())


if __name__ == "__main__":
    main()
