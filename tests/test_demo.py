"""`make demo`: the command line and a chain on the manual, conversation and memories of the project."""

import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parent.parent / "examples" / "demo.py"


def test_the_demo_builds_a_context_from_all_that_it_is_given():
    done = subprocess.run([sys.executable, str(DEMO)], capture_output=True, encoding="utf-8", timeout=300)

    command_line, _, chain = done.stdout.partition("=== In a chain")
    assert done.returncode == 0, done.stderr
    for text in (command_line, chain):
        assert "You help schools with their Skylark weather stations." in text
        assert "Which tip volume did our rain gauge have before, and how do we calibrate it?" in text
        assert "2. Choose **Service > Rain > Calibrate**." in text  # the manual
        assert "user: On Sunday it was 9.8 mm against 11.5 mm by hand." in text  # the conversation
        assert (
            "Memory: In April 2025 the rain gauge was calibrated: the tip volume came out at 0.23 mm." in text
        )
    assert "\nTokens    " in command_line
    assert "\nDropped: " in command_line
    assert (
        chain.index("--- system ---") < chain.index("--- human ---") < chain.index("--- the model's answer")
    )
