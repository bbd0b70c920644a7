"""What is left of a text that is too long: the sentences that matter, never more than the limit."""

import math
import os

import pytest
import regex
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from packline import TokenCounter
from packline.sentences import sentences
from packline.shortening import Shortening, shorten

MANY = settings(max_examples=int(os.environ.get("PACKLINE_CASES", "1000")), deadline=None)

CHARACTERS = TokenCounter(len, name="characters")
WORDS = TokenCounter(lambda text: len(text.split()), name="words")
NOT_ADDITIVE = TokenCounter(lambda text: math.ceil(len(text) / 3) + text.count("\n"), name="not additive")
GROWING = TokenCounter(lambda text: len(text) + text.count("…") ** 2 + len(text) // 9, name="growing")
COUNTERS = [CHARACTERS, WORDS, NOT_ADDITIVE, GROWING]

SAMPLES = [
    "Pandas reads a CSV file in chunks. Use category for repeated strings! Is it fast? Yes.",
    "Memory usage falls when float64 becomes float32.\n\n",
    "数据分析工具可以优化内存使用。把重复的字符串改为分类类型！这样快吗？是的。",
    'def load(path):\n    return pd.read_csv(path, dtype={"a": "int8"})\n',
    '{"rows": 12, "cols": ["a", "b"], "nested": {"x": null}}\n',
    "👩‍👩‍👧‍👦 loves 🇩🇪 pandas 🐼🐼 e\u0301\u0301. \u0301",
    "   \n\n\r\n",
    " " * 90,
    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0NTY3ODk+/" * 3,
    "第一。第二！" * 8,
]
TEXTS = st.lists(st.sampled_from(SAMPLES) | st.text(max_size=30), max_size=6).map("".join)
QUERIES = st.sampled_from(["", "How does pandas use memory?", "内存使用", "rows cols null", "🐼"])
MARK = "\ue000"


def clusters(text: str) -> set[int]:
    return {found.start() for found in regex.finditer(r"[\uD800-\uDBFF][\uDC00-\uDFFF]|\X", text)} | {
        len(text)
    }


@MANY
@given(TEXTS, QUERIES, st.integers(-1, 300), st.sampled_from(COUNTERS), st.sampled_from(["…", "", " [cut] "]))
def test_the_result_never_exceeds_the_limit(text, query, limit, counter, marker):
    result = shorten(text, query, limit, counter, marker)

    assert result == "" or counter.count(result) <= limit


@MANY
@given(TEXTS, QUERIES, st.sampled_from(COUNTERS), st.integers(0, 3))
def test_a_text_that_fits_is_unchanged(text, query, counter, spare):
    assert shorten(text, query, counter.count(text) + spare, counter) == text


@MANY
@given(TEXTS, QUERIES, st.integers(1, 200), st.sampled_from(COUNTERS))
def test_what_is_kept_stands_in_the_text_in_the_same_order_and_a_marker_wherever_something_is_missing(
    text, query, limit, counter
):
    assume(MARK not in text)

    result = shorten(text, query, limit, counter, MARK)

    if result in ("", text):
        return
    kept = [part.strip() for part in result.split(MARK)]
    assert all(kept[1:-1])
    assert regex.fullmatch(_in_order(kept), text) is not None


def _in_order(kept: list[str]) -> str:
    """The pattern of a text that has these parts, with something else than white space between any two."""
    blank = r"[\s\x1c-\x1f]"  # as `str.strip` sees it
    something = rf"(?s:.*(?!{blank}).)(?s:.*?)"
    return f"{blank}*" + something.join(map(regex.escape, kept)) + f"{blank}*"


@MANY
@given(TEXTS, QUERIES, st.integers(1, 200), st.sampled_from(COUNTERS))
def test_no_grapheme_cluster_is_cut(text, query, limit, counter):
    assume(MARK not in text)

    result = shorten(text, query, limit, counter, MARK)

    whole = {
        text[start:end]
        for start, end in zip(sorted(clusters(text)), sorted(clusters(text))[1:], strict=False)
    }
    for part in result.split(MARK):
        assert set(regex.findall(r"[\uD800-\uDBFF][\uDC00-\uDFFF]|\X", part)) <= whole | {" ", "\n"}


@MANY
@given(TEXTS, QUERIES, st.integers(1, 200))
def test_the_result_is_empty_only_where_a_marker_and_something_do_not_fit(text, query, limit):
    longest = max((len(found[0]) for found in regex.finditer(r"\X", text)), default=0)
    assume(text.strip() and limit >= longest + 6)

    assert shorten(text, query, limit, CHARACTERS).strip("… \n")


@MANY
@given(TEXTS, QUERIES, st.lists(st.integers(-1, 300), min_size=2, max_size=4), st.sampled_from(COUNTERS))
def test_one_shortening_gives_for_each_limit_what_a_fresh_one_gives(text, query, limits, counter):
    shortening = Shortening(text, query, counter)

    assert [shortening.to(limit) for limit in limits] == [
        shorten(text, query, limit, counter) for limit in limits
    ]


def test_a_text_is_read_once_for_all_its_limits(monkeypatch: pytest.MonkeyPatch):
    read: list[str] = []
    monkeypatch.setattr("packline.shortening.sentences", lambda text: read.append(text) or sentences(text))
    text = "Cats sleep. Dogs bark at cats. Fish swim. " * 20

    shortening = Shortening(text, "What do fish do?", CHARACTERS)
    for limit in (100, 200, 300):
        assert len(shortening.to(limit)) <= limit

    assert read == [text]


def test_the_sentences_that_answer_are_kept_in_order():
    text = "Pandas is a library. Category saves memory. It rains. Chunks save memory too. The end."

    result = shorten(text, "How can I save memory?", 56, CHARACTERS)

    assert result == "… Category saves memory. … Chunks save memory too. …"


def test_room_that_is_left_because_counts_do_not_add_up_is_used():
    text = "".join(f"Cat {n} sat. " for n in range(100, 400))  # 13 characters: 5 tokens alone, 4.33 in a row

    result = shorten(text, "dogs", 300, NOT_ADDITIVE)

    assert 290 < NOT_ADDITIVE.count(result) <= 300


def test_words_of_one_stem_match():
    text = "He sang. He was painting walls. He slept. He cooked."

    assert shorten(text, "What did he paint?", 30, CHARACTERS) == "… He was painting walls. …"


def test_chinese_sentences_are_chosen_by_what_they_say():
    text = "今天下雨。分类类型可以减少内存。他去了北京。明天天气很好。"

    assert shorten(text, "怎样减少内存？", 15, CHARACTERS) == "…分类类型可以减少内存。…"


def test_sentences_that_say_other_parts_of_the_question_come_before_repetitions():
    text = (
        "It rained. It snowed. Alice saw Alice. Alice hid Alice. Carol sat. Carol ran. It was cold. All ate."
    )

    result = shorten(text, "Alice and Carol", 38, CHARACTERS)

    assert result == "… Alice saw Alice. … Carol sat. …"


def test_space_between_kept_parts_stays_as_it_is():
    text = f"needle{' ' * 200}hay is here {'rain ' * 100}"

    assert shorten(text, "needle hay", 300, CHARACTERS).startswith(f"needle{' ' * 200}hay is here ")


CHAPTERS = [
    f"Chapter {n} treats the {part} of the machine. Nobody knows why the {part} is blue.\n"
    for n, part in enumerate(["valve", "pump", "gear", "wheel", "motor", "crank", "piston", "rotor"] * 10)
]
CHAPTERS[40] = "The capacitor of the machine stores eleven joules. " + CHAPTERS[40]
FACT = "The capacitor of the machine stores eleven joules."
NOTICE = "Copyright by the authors, who grant to anybody all rights in this text but those that they keep. "


def test_what_is_left_goes_to_the_sentences_around_the_best_one_not_to_weak_matches_at_the_beginning():
    result = shorten("".join(CHAPTERS), "How many joules does the capacitor store?", 300, CHARACTERS)

    around = CHAPTERS[39] + CHAPTERS[40] + CHAPTERS[41].partition(" Nobody")[0]
    assert result == f"… Nobody knows why the piston is blue.\n{around} …"


def test_a_long_text_keeps_its_title_and_no_other_beginning_beside_the_sentence_that_answers():
    question = "How many joules does the capacitor store?"
    titled, untitled = "The Blue Engine\n\n" + "".join(CHAPTERS), NOTICE * 2 + "".join(CHAPTERS)

    assert shorten(titled, question, 100, CHARACTERS).startswith(f"The Blue Engine\n…\n{FACT} …")
    assert shorten(untitled, question, 240, CHARACTERS).startswith("…\n")
    assert FACT in shorten(untitled, question, 240, CHARACTERS)


def test_a_short_text_keeps_its_opening_beside_the_sentence_that_answers():
    text = (
        "Ada Lovelace lived in London. She rode. " + "It rained a lot in May. " * 9 + "Her father was Byron."
    )

    result = shorten(text, "Who was her father?", 70, CHARACTERS)

    assert result == "Ada Lovelace lived in London. She rode. … Her father was Byron."


def test_where_nothing_matches_the_beginning_is_kept():
    assert shorten("One fish. Two fish. Red fish.", "zebra", 15, CHARACTERS) == "One fish. …"


def test_a_marker_stands_on_a_line_of_its_own_between_lines():
    text = "alpha one\nbeta two\ngamma three\nalpha four\n"

    assert shorten(text, "alpha", 28, CHARACTERS) == "alpha one\n…\nalpha four\n"


def test_of_one_long_sentence_the_part_that_matters_is_kept():
    text = "word " * 200 + "the needle is here " + "word " * 200

    result = shorten(text, "needle", 60, CHARACTERS)

    assert result == "… word word word word the needle is here word word word …"


def test_a_text_without_spaces_is_cut_anywhere():
    assert shorten("abcdefghij" * 20, "", 20, CHARACTERS).startswith("abcdefghij")


@pytest.mark.parametrize("limit", [0, -1])
def test_nothing_fits_in_no_tokens(limit: int):
    assert shorten("text", "", limit, CHARACTERS) == ""


def test_a_marker_alone_is_nothing():
    assert shorten("A text.", "", 1, CHARACTERS) == ""


def test_white_space_alone_says_nothing():
    assert shorten("\n" * 100, "", 10, CHARACTERS) == ""


def test_the_best_sentence_is_kept_at_every_limit_that_it_fits():
    text = "Cats sleep. Dogs bark. Fish swim in the sea.\nBirds fly."
    alone = "… Fish swim in the sea.\n…"

    results = [
        shorten(text, "Do fish swim?", limit, CHARACTERS) for limit in range(len(alone), len(text) + 1)
    ]

    assert results[0] == alone
    assert all("Fish swim in the sea." in result for result in results)
    assert results[-1] == text


def test_a_part_of_the_best_sentence_comes_before_others_that_fit_whole():
    text = "Cats sleep. Dogs bark. Fish swim in the sea.\nBirds fly."

    assert shorten(text, "Do fish swim?", 20, CHARACTERS) == "… Fish swim …"


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "text",
    ["QUJDREVG+/" * 40_000, "\n" * 400_000, "word " * 80_000, "数据分析" * 100_000, "The cat sat. " * 30_000],
    ids=["base64", "newlines", "no sentence end", "no spaces", "sentences"],
)
def test_a_very_long_text_is_shortened(text: str):
    """Work that grew with the square of the length would not end within the timeout."""
    short = shorten(text, "the cat", 100, NOT_ADDITIVE)

    assert NOT_ADDITIVE.count(short) <= 100
    assert bool(short) == bool(text.strip())
