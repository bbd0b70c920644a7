"""What every test may rely on: a fixed clock, reproducible hypothesis, no network and no downloads."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A slow machine is no failure, and a failing example must come back.
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("dev"), derandomize=True, print_blob=True)
settings.register_profile("quick", parent=settings.get_profile("ci"), max_examples=20)
settings.register_profile("thorough", parent=settings.get_profile("dev"), max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

# The vocabulary must come from what is installed, not from a cache that only this machine has.
for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
    os.environ.pop(variable, None)
os.environ["ANONYMIZED_TELEMETRY"] = "False"
os.environ["LANGSMITH_TRACING"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["MPLBACKEND"] = "agg"

ROOT = Path(__file__).parent.parent


@pytest.fixture
def now() -> datetime:
    """The time at which every build in the tests happens."""
    return datetime(2026, 1, 15, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The question sets, which are too large for the repository; without them the test is skipped."""
    path = ROOT.parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip(f"the question sets are not at {path}")
    return path
