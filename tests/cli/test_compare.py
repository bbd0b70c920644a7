"""`packline compare`: its figures, what they mean, and what it says of a bad case."""

import json
from pathlib import Path

import numpy as np
import pytest

from packline import ContextBuilder, ContextConfig, ContextPacket
from packline.cli.app import run
from packline.cli.cases import EXAMPLE, FORMAT, Case, read_cases, spread
from packline.cli.compare import interval, recall

ROOT = Path(__file__).parents[2]
SHARED = "max_tokens = 0.05\ncontext_window = 100"
NEAR = {"id": "near", "content": "The gauge holds 0.2 mm of rain."}


def case(**fields: object) -> str:
    """A case, as its line, with other fields."""
    return json.dumps({"query": "What does it hold?", "evidence": ["near"], "candidates": [NEAR], **fields})


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


def test_variants_of_one_name_are_called_by_their_paths(
    cases: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    paths = [tmp_path / name for name in ("a/same.toml", "b/same.toml", "other.toml")]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.touch()

    variants = [f"--variant={path}" for path in paths]
    assert run(["compare", str(cases), *variants, "--counter", "approximate", "--json"]) == 0

    names = [row["name"] for row in json.loads(capsys.readouterr().out)["variants"]]
    assert names == [str(paths[0]), str(paths[1]), "other"]


def test_questions_that_exceed_the_budget_count_as_not_found_and_are_told(
    cases: Path, variants: list[str], capsys: pytest.CaptureFixture[str]
):
    code = run(["compare", str(cases), variants[0], "--counter", "approximate", "--max-tokens", "5"])

    out = capsys.readouterr().out
    assert code == 0
    assert "usual: 2 questions alone exceed the budget" in out


def test_a_variants_own_budget_is_compared_and_the_option_is_for_the_others(
    cases: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    for name, options in {"own": "max_tokens = 5", "share": SHARED, "none": ""}.items():
        (tmp_path / f"{name}.toml").write_text(options, "utf-8")
    variants = [f"--variant={tmp_path / name}.toml" for name in ("own", "share", "none")]

    assert (
        run(["compare", str(cases), *variants, "--counter", "approximate", "--max-tokens", "200", "--json"])
        == 0
    )

    told = {each["name"]: each["overflows"] for each in json.loads(capsys.readouterr().out)["variants"]}
    assert told == {"own": 2, "share": 2, "none": 0}


def test_the_option_for_the_budget_says_which_variants_it_is_for(capsys: pytest.CaptureFixture[str]):
    assert run(["compare", "--help"]) == 0

    assert "variants that say no max_tokens" in " ".join(capsys.readouterr().out.replace("│", " ").split())


@pytest.mark.parametrize(
    ("cases", "limit", "told"),
    [
        (1, "3000", "1 case\n"),
        (1, "5", "usual: 1 question alone exceeds the budget\n"),
        (2, "3000", "2 cases\n"),
    ],
)
def test_one_is_told_as_one(
    cases: int, limit: str, told: str, tmp_path: Path, variants: list[str], capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "cases.jsonl"
    path.write_text(cases * (case() + "\n"), "utf-8")

    assert run(["compare", str(path), variants[0], "--counter", "approximate", "--max-tokens", limit]) == 0

    assert told in capsys.readouterr().out


def test_the_format_of_cases_is_in_the_help_and_its_example_in_the_readme(
    tmp_path: Path, variants: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "cases.jsonl").write_text(EXAMPLE, "utf-8")

    assert run(["compare", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        run(["compare", str(tmp_path / "cases.jsonl"), variants[0], "--counter", "approximate", "--json"])
        == 0
    )

    assert " ".join(FORMAT.split()) in shown
    assert EXAMPLE in (ROOT / "README.md").read_text("utf-8")
    assert json.loads(capsys.readouterr().out)["variants"][0]["recall"] == 1.0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"query": "Why?"}', "cases.jsonl:1: no evidence: expected query, evidence"),
        (
            '{"query": "Why?", "evidence": ["a"]}',
            "cases.jsonl:1: no candidates: expected candidates, or a corpus_id",
        ),
        (
            '{"query": "Why?", "evidence": ["a"], "candidates": 5}',
            "cases.jsonl:1: candidates: expected a list, got 5",
        ),
        ('{"query": "Why?", "evidence": ["a"], "candidates": [{"id": "a"}]}', "cases.jsonl:1: no content"),
        (
            '{"query": "W?", "evidence": ["a"], "candidates": [{"id": "a", "content": 5}]}',
            "candidate 'a': content must",
        ),
        (
            '{"query": "W?", "evidence": ["a"], "candidates": [{"id": "a", "content": "", "kind": "state"}]}',
            "candidate 'a': kind must be evidence, memory, history or other, got 'state'",
        ),
        (case(evidence=["nera"]), "evidence 'nera' is not among the candidates: expected {}, perhaps 'near'"),
        (case(evidence=["x"]), "evidence 'x' is not among the candidates: expected {}, such as 'near'"),
        (
            case(candidates=[]),
            "evidence 'near' is not among the candidates: expected {}, of which it has none",
        ),
        (case(evidence_groups=[["near"], []]), "evidence_groups: expected lists of ids, got an empty one"),
        (case(evidence_groups=[["near", "y"]]), "evidence 'y' is not among the candidates"),
        (case(query=" "), "cases.jsonl:1: query: expected a text that is not empty, got ' '"),
        (case(query=None), "cases.jsonl:1: query: expected a text that is not empty, got None"),
        (case(query_time="soon"), "query_time: expected a time such as 2026-01-31T12:00, got 'soon'"),
        (case(candidates=2 * [NEAR]), "cases.jsonl:1: candidate 'near' stands there twice"),
        (case(candidates=[{**NEAR, "timestamp": "x"}]), "timestamp: expected a time such as"),
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
    assert message.replace("{}", "an id of its candidates") in err
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
