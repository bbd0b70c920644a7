"""An error names the thing, the values and the way out, and carries them as data."""

import pickle

import pytest

from packline import BudgetError, ConfigError, PacklineError, SourceError


def test_a_config_error_names_field_value_and_range():
    error = ConfigError("max_tokens", -5, "a whole number from 1")

    assert str(error) == "max_tokens must be a whole number from 1, got -5"
    assert (error.field, error.value, error.expected) == ("max_tokens", -5, "a whole number from 1")


def test_a_long_value_is_shown_by_its_beginning():
    error = ConfigError("state", "x" * 500, "a text")

    assert str(error) == f"state must be a text, got '{'x' * 78}…"
    assert error.value == "x" * 500


def test_a_budget_error_names_both_numbers_the_largest_section_and_the_way_out():
    error = BudgetError(812, 500, "Role & Policies")

    assert str(error) == (
        "fixed sections need 812 tokens but the budget is 500: shorten [Role & Policies], the largest, "
        "or raise max_tokens to 812 or more"
    )
    assert (error.needed, error.budget, error.largest) == (812, 500, "Role & Policies")


def test_a_budget_error_names_what_comes_with_the_question_where_that_is_the_largest():
    error = BudgetError(2_040, 500, "2 images", 2_000)

    assert str(error) == (
        "fixed sections need 2040 tokens but the budget is 500: leave out the 2 images (about 2000 tokens), "
        "the largest, or raise max_tokens to 2040 or more"
    )
    assert (error.largest, error.media) == ("2 images", 2_000)


def test_a_source_error_names_the_source():
    error = SourceError("wiki", "returned int, which has no text")

    assert str(error) == "source 'wiki' returned int, which has no text"
    assert (error.source, error.problem) == ("wiki", "returned int, which has no text")


def test_all_errors_are_caught_as_one_and_those_of_values_as_value_errors():
    assert issubclass(ConfigError, PacklineError)
    assert issubclass(BudgetError, PacklineError)
    assert issubclass(SourceError, PacklineError)
    assert issubclass(ConfigError, ValueError)
    assert issubclass(BudgetError, ValueError)


@pytest.mark.parametrize(
    "error",
    [
        ConfigError("a", (1, 2), "b"),
        BudgetError(2, 1, "Task"),
        BudgetError(1_002, 1, "image", 1_000),
        SourceError("wiki", "hung"),
        PacklineError("no"),
    ],
)
def test_errors_pickle_with_their_data(error: PacklineError):
    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
