"""The account of a build: what a table, JSON data and a card say of it, and that data cannot break them."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packline.context import Context
from packline.gathering import Failure
from packline.packet import ContextPacket
from packline.prompt import Message
from packline.report import explain, to_dict, to_html
from packline.report.cells import fit, one_line, visible, width
from packline.report.data import plain
from packline.request import Request
from packline.verdict import Reason, Verdict

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)


def verdict(content: str = "Text.", reason: Reason = Reason.SELECTED, **fields: object) -> Verdict:
    """A verdict on a packet of evidence."""
    given = {name: fields.pop(name) for name in ("metadata", "kind", "id", "origin") if name in fields}
    packet = ContextPacket(content, **{"kind": "evidence", **given})  # type: ignore[arg-type]
    scores = {"relevance": 0.5, "recency": 0.25, "score": 0.425, "tokens": 7}
    return Verdict(packet, reason, **{"source": "manual", "position": 0, **scores, **fields})  # type: ignore[arg-type]


def context(
    *,
    kept: Sequence[Verdict] = (),
    shortened: Sequence[Verdict] = (),
    dropped: Sequence[Verdict] = (),
    question: str = "Why?",
    **fields: object,
) -> Context:
    """A finished context of 60 tokens in a budget of 200."""
    return Context(
        **{  # type: ignore[arg-type]
            "text": f"[Task]\n{question}",
            "messages": (Message("user", f"[Task]\n{question}"),),
            "tokens": 60,
            "max_tokens": 200,
            "section_tokens": {"Task": 20, "Evidence": 30},
            "request": Request.of(question, now=NOW),
            "kept": tuple(kept),
            "shortened": tuple(shortened),
            "dropped": dropped,
            **fields,
        }
    )


class Page(HTMLParser):
    """The tags, attributes and words of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("col", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.words.append(data)


# --- cells ---


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", 0),
        ("pandas", 6),
        ("数据", 4),
        ("e\u0301", 1),
        ("한국", 4),
        ("👩‍👩‍👧", 2),
        ("🇩🇪", 2),
        ("☎️", 2),
        ("हिन्दी", 3),
    ],
)
def test_width_counts_the_columns_of_a_terminal(text: str, columns: int):
    assert width(text) == columns


@given(st.text(), st.integers(1, 40))
def test_a_cell_takes_exactly_its_columns(text: str, columns: int):
    assert width(fit(one_line(text), columns)) == columns


@given(st.text())
def test_nothing_visible_controls_a_terminal(text: str):
    shown = visible(text)

    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]", shown
    )
    shown.encode()


def test_words_of_every_script_are_shown_as_they_are():
    text = "naïve 数据 हिन्दी می‌خواهم 👩‍👩‍👧\n\ttwo"

    assert visible(text) == text


# --- the table ---


def test_the_table_tells_the_budget_by_section_and_what_lies_between():
    lines = explain(context()).splitlines()

    assert lines == [
        "Question  Why?",
        "Tokens    60 of 200 (30%), 140 free",
        "",
        "  Task      20   10%  ████",
        "  Evidence  30   15%  ██████",
        "  Framing   10    5%  ██",
    ]


def test_the_table_tells_of_each_packet_what_became_of_it_and_why():
    done = context(
        kept=[verdict("Whole.", metadata={"source": "manual/rain.md"}, merged=(ContextPacket("whole"),))],
        shortened=[verdict("0123456789", Reason.SHORTENED, shortened="01234", tokens=5)],
        dropped=[verdict("Far off.", Reason.BELOW_MIN_RELEVANCE, tokens=None, relevance=0.0)],
    )

    text = explain(done)

    assert re.search(r"Kept: 1\n.*\n  evidence  rain.md +0\.50 +0\.25 +0\.42 +7  ", text)
    assert "selected by score (1 more said so)  Whole." in text
    assert re.search(r"Shortened: 1\n.*\n.* 5  too long to stand whole \(50% stands\)  01234$", text, re.M)
    assert re.search(r"Dropped: 1\n.*\n.* 0\.00 .* –  relevance below the minimum  Far off\.$", text, re.M)


def test_the_table_lists_twenty_dropped_and_counts_the_others_by_reason():
    dropped = [verdict(f"no. {n}", Reason.OVER_BUDGET) for n in range(25)]
    dropped += [verdict(f"no. {n}", Reason.BELOW_MIN_RELEVANCE) for n in range(25, 1025)]

    text = explain(context(dropped=dropped))

    assert "Dropped: 1,025" in text
    assert "no. 19" in text
    assert "no. 20" not in text
    assert text.endswith(
        "  … and 1,005 more: relevance below the minimum (1,000), does not fit in the budget (5)"
    )


def test_the_table_tells_failures_and_times():
    failure = Failure("notes", ConnectionError("refused\nby the server"), 1.5)

    text = explain(context(failures=(failure,), stage_seconds={"gather": 1.5, "select": 0.002}))

    assert "Failed: 1\n  notes: ConnectionError: refused by the server (after 1.50 s)" in text
    assert text.endswith("Time  gather 1500.0 ms, select 2.0 ms")


def test_numbers_that_an_answer_can_cite_lead_to_their_packets_everywhere():
    cited = verdict("Whole.", id="k1")
    done = context(kept=[verdict("Other.", id="k0"), cited], citations={7: cited.packet})

    assert re.search(r"  \[7\] Whole\.$", explain(done), re.M)
    assert re.search(r"  Other\.$", explain(done), re.M)
    assert to_dict(done)["citations"] == [{"number": 7, "id": "k1"}]
    assert "[7] Whole." in Page(to_html(done)).words


def test_columns_stay_in_line_whatever_the_script():
    kept = [
        verdict(text, source=text)
        for text in ("plain", "数据分析工具", "e\u0301te\u0301", "👩‍👩‍👧 family", "x" * 300)
    ]

    rows = explain(context(kept=kept)).partition("Kept: 5\n")[2].splitlines()

    ends = {width(row[: row.index("selected by score")]) for row in rows[1:]}
    assert len(ends) == 1
    assert max(map(width, rows)) <= 112


@given(st.text(min_size=1), st.text(min_size=1))
def test_no_data_adds_a_line_to_the_table(content: str, name: str):
    done = context(kept=[verdict(content, source=name, metadata={"source": name})])

    assert len(re.split(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", explain(done))) == 10


# --- data ---


def test_the_data_account_for_every_packet_with_its_scores_and_the_reason():
    stamp = datetime(2025, 12, 1, tzinfo=UTC)
    packet = ContextPacket("0123456789", timestamp=stamp, kind="memory", id="m1", metadata={"page": 3})
    done = context(
        kept=[verdict("Whole.", id="k1", merged=(ContextPacket("whole", id="d1"),))],
        shortened=[Verdict(packet, Reason.SHORTENED, "notes", 4, 0.5, 0.25, 0.425, 5, 5, "01234")],
        dropped=[verdict("whole", Reason.DUPLICATE, id="d1", tokens=None)],
    )

    data = to_dict(done)

    assert data["version"] == 1
    assert (data["question"], data["now"]) == ("Why?", "2026-01-15T12:00:00+00:00")
    assert (data["tokens"], data["max_tokens"]) == (60, 200)
    assert data["sections"] == [{"title": "Task", "tokens": 20}, {"title": "Evidence", "tokens": 30}]
    assert data["messages"] == [{"role": "user", "content": "[Task]\nWhy?"}]
    assert data["shortened"] == [
        {
            "id": "m1",
            "kind": "memory",
            "source": "notes",
            "position": 4,
            "reason": "shortened",
            "why": "too long to stand whole",
            "relevance": 0.5,
            "recency": 0.25,
            "score": 0.425,
            "tokens": 5,
            "timestamp": "2025-12-01T00:00:00+00:00",
            "metadata": {"page": 3},
            "content": "0123456789",
            "shortened": "01234",
            "merged": [],
        }
    ]
    kept, dropped = data["kept"], data["dropped"]
    assert isinstance(kept, list)
    assert isinstance(dropped, list)
    assert kept[0]["merged"] == [dropped[0]["id"]] == ["d1"]
    assert (dropped[0]["reason"], dropped[0]["tokens"]) == ("duplicate", None)


def test_what_takes_time_stands_apart_in_the_data():
    def built(seconds: float) -> dict[str, object]:
        failure = Failure("notes", OSError("gone"), seconds)
        return to_dict(context(failures=(failure,), stage_seconds={"gather": seconds}))

    first, second = built(1.0), built(2.0)

    assert first.pop("stage_seconds") == {"gather": 1.0}
    assert first.pop("failure_seconds") == [1.0]
    assert {name: value for name, value in second.items() if not name.endswith("_seconds")} == first


def test_the_data_are_json_whatever_the_metadata_hold():
    cyclic: dict[str, object] = {}
    cyclic["self"] = cyclic
    metadata = {
        "number": np.int64(3),
        "share": np.float32(0.5),
        "nothing": float("nan"),
        "when": NOW,
        "tags": {"b", "a"},
        "odd \ud800": object(),
        "cyclic": cyclic,
        "broken": Broken(),
    }
    done = context(kept=[verdict("lone \ud800 surrogate", metadata=metadata, origin=object())])

    text = json.dumps(to_dict(done), allow_nan=False, ensure_ascii=False)

    text.encode()
    entry = json.loads(text)["kept"][0]
    assert "origin" not in entry
    assert entry["content"] == "lone \ufffd surrogate"
    assert entry["metadata"]["number"] == 3
    assert entry["metadata"]["share"] == 0.5
    assert entry["metadata"]["nothing"] == "nan"
    assert entry["metadata"]["when"] == "2026-01-15T12:00:00+00:00"
    assert entry["metadata"]["tags"] == ["a", "b"]
    assert entry["metadata"]["odd \ufffd"] == "<object object>"
    assert entry["metadata"]["broken"] == "<Broken instance>"


class Broken:
    """An object that cannot show itself."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.text()
    | st.binary()
    | st.datetimes()
    | st.complex_numbers(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.frozensets(st.text())
    ),
)


@given(_VALUES)
def test_plain_values_are_json_and_stay_as_they_are(value: object):
    once = plain(value)

    json.dumps(once, allow_nan=False).encode()
    assert plain(once) == once


# --- the card ---


def test_the_card_shows_budget_packets_failures_and_prompt():
    done = context(
        kept=[verdict("Whole.", metadata={"source": "manual/rain.md"}, id="k1")],
        shortened=[verdict("0123456789", Reason.SHORTENED, shortened="01234")],
        dropped=[verdict("Far off.", Reason.BELOW_MIN_RELEVANCE)],
        failures=(Failure("notes", OSError("gone"), 1.5),),
    )

    page = Page(to_html(done))

    words = " ".join(page.words)
    for shown in ("Why?", "60", "of 200 tokens (30%)", "Evidence", "Framing", "140", "notes: OSError: gone"):
        assert shown in words
    for shown in ("rain.md", "manual · k1", "Whole.", "01234", "50% stands", "Far off.", "0.42"):
        assert shown in words
    assert "[Task]\nWhy?" in page.words
    assert page.open == []


def test_the_card_needs_nothing_beside_itself():
    html = to_html(context(kept=[verdict()]))

    page = Page(html)

    assert not {"script", "link", "img", "iframe", "object", "a"} & set(page.tags)
    assert not {name for name, _ in page.attributes} & {"src", "href", "id", "onclick"}
    assert not re.search(r"@import|url\(|@font-face|https?:", html)


def test_every_rule_of_the_card_is_confined_to_it():
    style = re.search(r"<style>(.*)</style>", to_html(context()))
    assert style is not None

    selectors = re.findall(r"(?:^|[{}])([^{}@]+)\{", style[1])

    assert len(selectors) > 20
    assert all("div.packline-card" in each for selector in selectors for each in selector.split(","))


def test_the_card_is_readable_in_light_and_in_dark():
    style = to_html(context())

    assert "@media (prefers-color-scheme: dark)" in style
    assert '[data-jp-theme-light="false"]' in style
    assert style.count("--ground: #171a21") == 2
    assert style.count("--ground: #ffffff") == 2


@given(st.text(min_size=1))
def test_data_never_become_markup(text: str):
    hostile = f'"><script>{text}</script></style></pre></div><!--'
    plain_page = Page(to_html(_nasty("text")))

    page = Page(to_html(_nasty(hostile)))

    assert page.tags == plain_page.tags
    assert [name for name, _ in page.attributes] == [name for name, _ in plain_page.attributes]
    assert page.open == []


def _nasty(text: str) -> Context:
    return context(
        question=text,
        kept=[verdict(text, source=text, id=text, metadata={"source": text})],
        section_tokens={text: 30},
        failures=(Failure(text, ValueError(text), 0.0),),
        stage_seconds={text: 1.0},
        messages=(Message(text, text),),
    )


def test_the_card_lists_a_hundred_of_many_and_counts_the_others():
    dropped = [verdict(f"no. {n}", Reason.OVER_BUDGET) for n in range(300)]

    page = Page(to_html(context(dropped=dropped)))

    assert page.tags.count("tr") == 1 + 100
    assert "… and 200 more: does not fit in the budget (200)" in page.words


def test_the_same_context_gives_the_same_card():
    assert to_html(context(kept=[verdict()])) == to_html(context(kept=[verdict()]))


def test_a_context_shows_itself():
    done = context(kept=[verdict()])

    assert done.explain() == explain(done)
    assert done.to_dict() == to_dict(done)
    assert done.to_html() == done._repr_html_() == to_html(done)
