"""What is found in the question sets, by the benchmark's own measure."""

import runpy
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parent.parent.parent / "benchmarks" / "knowledge.py"


@pytest.mark.parametrize(("name", "pools"), [("musique", 5), ("cmrc2018_zh", 2)])
def test_no_fewer_passages_are_found_than_by_bm25_and_nothing_for_most_other_questions(
    shared_data: Path, name: str, pools: int
) -> None:
    shares = runpy.run_path(str(BENCHMARK))["measure"](shared_data, name, pools)

    assert shares["questions"] >= 100
    assert shares["default"] >= shares["bm25"] > 0.4
    assert shares["all"] >= shares["bm25"]
    assert shares["nothing"] >= 0.7
