"""Every setting is checked when it is made, and each changes what it says (see the tests of the stages)."""

import dataclasses
import inspect
import math
import pickle
import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packline import ConfigError, ContextConfig, Kind, Section, Template


def test_the_defaults_are_the_books_but_for_the_least_relevance():
    config = ContextConfig()

    assert config.max_tokens == 3000
    assert config.reserve_ratio == 0.2
    assert config.min_relevance == 0.05
    assert config.enable_compression is True
    assert (config.recency_weight, config.relevance_weight) == (0.3, 0.7)


SHARE = "a number in [0, 1]"
WHOLE = "a whole number from 0"


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        *(
            (
                "max_tokens",
                value,
                "a whole number from 1, a share of context_window above 0 and below 1, or a callable",
            )
            for value in (0, -5, 3000.0, True, "3000", None, math.nan)
        ),
        *(("reserve_ratio", value, "a number in [0, 1)") for value in (-0.1, 1, 1.0, math.nan, "0.2", True)),
        *(
            (field, value, SHARE)
            for field in (
                "min_relevance",
                "stop_share",
                "recency_weight",
                "relevance_weight",
                "recent_share",
                "snippet_share",
            )
            for value in (-0.1, 1.1, math.nan, math.inf, "0.5", None, True)
        ),
        *(
            (field, value, "a number above 0")
            for field in ("half_life_days", "source_timeout")
            for value in (0, -1, math.nan, math.inf, "7", None, True)
        ),
        *(
            (field, value, WHOLE)
            for field in ("recent_turns", "message_overhead")
            for value in (-1, 2.0, None, True, "5")
        ),
        *(
            (field, value, "True or False")
            for field in ("enable_compression", "merge_duplicates", "strict")
            for value in (1, 0, None, "yes")
        ),
        ("recency", "sometimes", "one of 'asked', 'always'"),
        ("layout", "messages", "one of 'prompt', 'chat'"),
        ("layout", ["chat"], "one of 'prompt', 'chat'"),
        ("template", {"style": "xml"}, "a Template"),
        ("template", None, "a Template"),
    ],
)
def test_a_bad_value_is_named_with_field_value_and_range(field: str, value: object, expected: str):
    with pytest.raises(ConfigError) as raised:
        ContextConfig(**{field: value})  # type: ignore[arg-type]

    assert str(raised.value) == f"{field} must be {expected}, got {value!r}"
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_tokens", 1),
        ("reserve_ratio", 0),
        ("reserve_ratio", 0.999),
        ("min_relevance", 0),
        ("min_relevance", 1),
        ("recent_share", 0),
        ("recent_share", 1.0),
        ("snippet_share", 0),
        ("half_life_days", 0.001),
        ("recent_turns", 0),
        ("message_overhead", 0),
        ("source_timeout", 0.01),
    ],
)
def test_the_ends_of_a_range_belong_to_it(field: str, value: object):
    assert getattr(ContextConfig(**{field: value}), field) == value  # type: ignore[arg-type]


@pytest.mark.parametrize("weights", [(0.3, 0.8), (0.0, 0.0), (1.0, 1.0), (0.5, 0.4999)])
def test_weights_must_sum_to_1(weights: tuple[float, float]):
    with pytest.raises(ConfigError) as raised:
        ContextConfig(recency_weight=weights[0], relevance_weight=weights[1])

    assert str(raised.value) == (
        f"recency_weight + relevance_weight must be two numbers that sum to 1, got {weights}"
    )


@given(st.floats(0, 1))
def test_every_pair_of_weights_that_sums_to_1_is_taken(weight: float):
    config = ContextConfig(recency_weight=weight, relevance_weight=1 - weight)

    assert config.recency_weight == weight


def test_an_unknown_option_is_refused():
    with pytest.raises(ConfigError, match="perhaps 'max_tokens', got 'maxtokens'"):
        ContextConfig(maxtokens=3)  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match="perhaps 'output', got 'ouput'"):
        Template(ouput="Briefly.")  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match="perhaps 'title', got 'titel'"):
        Section(titel="Task")  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match="perhaps 'max_tokens'"):
        ContextConfig().replace(max_token=3)
    with pytest.raises(ConfigError, match="perhaps 'min_relevance'"):
        ContextConfig.from_dict({"min_relevence": 0.2})


def test_a_config_still_tells_its_signature():
    assert list(inspect.signature(ContextConfig).parameters)[:2] == ["max_tokens", "context_window"]
    assert inspect.signature(Section).parameters["share"].default == 1.0


def test_an_unknown_option_like_none_is_answered_with_the_list_alone():
    with pytest.raises(ConfigError) as raised:
        ContextConfig.from_dict({"zzz": 1})

    assert "one of max_tokens, context_window, reserve_ratio" in str(raised.value)
    assert "perhaps" not in str(raised.value)


def test_book_is_the_books_setting():
    book = ContextConfig.book(max_tokens=2000)

    assert book.max_tokens == 2000
    assert (book.recency, book.merge_duplicates, book.snippet_share) == ("always", False, 0.0)
    assert (book.recency_weight, book.relevance_weight, book.min_relevance) == (0.3, 0.7, 0.1)
    assert math.isclose(0.5 ** (1 / book.half_life_days), math.exp(-0.1))


def test_replace_gives_a_checked_copy_and_leaves_the_original():
    config = ContextConfig()

    smaller = config.replace(max_tokens=100, layout="chat")

    assert (smaller.max_tokens, smaller.layout) == (100, "chat")
    assert config == ContextConfig()
    with pytest.raises(ConfigError, match="max_tokens"):
        config.replace(max_tokens=0)


def test_from_dict_reads_a_toml_table_down_to_the_sections():
    table = tomllib.loads(
        """
        max_tokens = 500
        layout = "chat"
        [template]
        style = "markdown"
        output = "Be brief."
        [[template.sections]]
        title = "Question"
        holds = "question"
        [[template.sections]]
        title = "All"
        kinds = ["instruction", "state", "evidence", "memory", "history", "other"]
        [[template.sections]]
        title = "Answer"
        holds = "output"
        """
    )

    config = ContextConfig.from_dict(table)

    assert (config.max_tokens, config.layout) == (500, "chat")
    assert config.template == Template(
        sections=(
            Section("Question", holds="question"),
            Section("All", tuple(Kind)),
            Section("Answer", holds="output"),
        ),
        style="markdown",
        output="Be brief.",
    )


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ({"styel": "xml"}, "perhaps 'style'"),
        ({"style": "html"}, "style must be one of 'brackets', 'xml', 'markdown', got 'html'"),
        ({"sections": [{"titel": "A"}]}, r"option of template.sections\[0\] must be .* perhaps 'title'"),
        ({"sections": ["A"]}, r"sections\[0\] must be a Section, got 'A'"),
        ({"sections": "A"}, "sections must be a list of Section, got 'A'"),
    ],
)
def test_a_bad_template_table_is_named_in_the_error(template: object, message: str):
    with pytest.raises(ConfigError, match=message):
        ContextConfig.from_dict({"template": template})


def test_a_budget_may_depend_on_the_question():
    config = ContextConfig(max_tokens=lambda question: 10 * len(question))

    assert config.budget("why") == 30
    assert ContextConfig(max_tokens=7).budget("why") == 7


@pytest.mark.parametrize("tokens", [0, -1, 2.5, None, True, "9"])
def test_a_callable_budget_must_give_a_whole_number_from_1_or_a_share(tokens: object):
    config = ContextConfig(max_tokens=lambda question: tokens)  # type: ignore[arg-type, return-value]
    expected = "a whole number from 1, or a share of context_window above 0 and below 1"

    with pytest.raises(ConfigError) as raised:
        config.budget("why")

    assert str(raised.value) == f"max_tokens(question) must be {expected}, got {tokens!r}"


def test_a_config_is_frozen_takes_keywords_only_and_pickles():
    config = ContextConfig(max_tokens=10)
    config.template.section_of(Kind.STATE)

    with pytest.raises(dataclasses.FrozenInstanceError):
        config.max_tokens = 5  # type: ignore[misc]
    with pytest.raises(TypeError):
        ContextConfig(10)  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(config)) == config
    assert hash(config) == hash(ContextConfig(max_tokens=10))


def test_max_tokens_may_be_a_share_of_the_models_window():
    assert ContextConfig(max_tokens=0.25, context_window=8192).budget("Why?") == 2048


def test_a_share_of_a_window_needs_the_window():
    with pytest.raises(ConfigError, match="context_window must be given where max_tokens is a share"):
        ContextConfig(max_tokens=0.25)


def test_a_callable_budget_may_give_a_share_of_the_models_window():
    config = ContextConfig(max_tokens=lambda question: 0.25, context_window=8192)

    assert config.budget("Why?") == 2048
    with pytest.raises(
        ConfigError, match=r"context_window must be given where max_tokens\(question\) is a share of it"
    ):
        config.replace(context_window=None).budget("Why?")


def test_a_share_that_leaves_no_token_is_refused_at_the_door():
    with pytest.raises(
        ConfigError, match=r"max_tokens must be at least one token of context_window, 100, got 0\.001"
    ):
        ContextConfig(max_tokens=0.001, context_window=100)
    assert ContextConfig(max_tokens=0.01, context_window=100).budget("Why?") == 1


@pytest.mark.parametrize("whole", [np.int64, np.int32, np.uint8])
def test_a_whole_number_of_numpy_is_a_whole_number_and_kept_as_pythons(whole: type):
    config = ContextConfig(
        max_tokens=whole(100), context_window=whole(200), recent_turns=whole(2), message_overhead=whole(3)
    )
    kept = (config.max_tokens, config.context_window, config.recent_turns, config.message_overhead)

    assert kept == (100, 200, 2, 3)
    assert [type(number) for number in kept] == [int] * 4
    assert type(ContextConfig(max_tokens=lambda question: whole(9)).budget("Why?")) is int


@pytest.mark.parametrize("real", [np.float64, np.float32, np.float16])
def test_a_share_of_numpy_is_a_share_and_kept_as_pythons(real: type):
    config = ContextConfig(max_tokens=real(0.25), context_window=100)

    assert (type(config.max_tokens), config.budget("Why?")) == (float, 25)
