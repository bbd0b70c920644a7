"""A name that is no option is refused, and the one that was probably meant is named."""

import dataclasses
import pickle

import pytest

from packline import ConfigError
from packline.options import check_names, checks_names


@checks_names
@dataclasses.dataclass(frozen=True)
class Oven:
    """An oven."""

    heat: int
    minutes: int = 5


def test_a_name_that_is_near_to_a_known_one_is_answered_with_that():
    with pytest.raises(ConfigError) as raised:
        Oven(heet=3)  # type: ignore[call-arg]

    assert str(raised.value) == "option of Oven must be one of heat, minutes, perhaps 'heat', got 'heet'"
    assert (raised.value.field, raised.value.value) == ("option of Oven", "heet")


def test_any_other_is_answered_with_the_list_alone():
    with pytest.raises(ConfigError, match="one of heat, minutes, got 'colour'"):
        check_names("Oven", {"colour": "red"}, ["heat", "minutes"])


def test_all_else_is_as_with_any_dataclass():
    oven = Oven(200, minutes=10)

    assert oven == Oven(heat=200, minutes=10)
    assert dataclasses.replace(oven, heat=100) == Oven(100, 10)
    assert pickle.loads(pickle.dumps(oven)) == oven
    with pytest.raises(TypeError, match="heat"):
        Oven()  # type: ignore[call-arg]
