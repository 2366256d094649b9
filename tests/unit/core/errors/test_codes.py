"""The way from a code to its leaf, and the whole table beside a checked-in copy of Kafka 4.3's."""

import pytest

from cordwood.core.errors import (
    ERRORS_BY_CODE,
    CorruptMessageError,
    UnknownServerError,
    error_for_code,
    error_from_code,
)
from tests.unit.core.errors.kafka_4_3_codes import CONSTANTS, RETRIABLE


def _leaf_name(constant: str) -> str:
    words = "".join(word.capitalize() for word in constant.split("_"))
    return words.removesuffix("Error").removesuffix("Exception") + "Error"


def test_every_constant_has_one_leaf() -> None:
    names = {code: leaf.__name__ for code, leaf in ERRORS_BY_CODE.items()}

    assert names == {code: _leaf_name(constant) for code, constant in CONSTANTS.items()}


def test_retriable_leaves_are_those_of_kafka() -> None:
    assert {code for code, leaf in ERRORS_BY_CODE.items() if leaf.retriable} == RETRIABLE


def test_lookup_gives_the_leaf_when_the_code_is_known() -> None:
    error = error_from_code(2, "wrong CRC")

    assert error_for_code(2) is CorruptMessageError
    assert type(error) is CorruptMessageError
    assert str(error) == "wrong CRC"


def test_lookup_names_the_code_when_it_is_unknown() -> None:
    error = error_from_code(999, "no")

    assert type(error) is UnknownServerError
    assert str(error) == "error code 999, unknown to Kafka 4.3: no"
    assert str(error_from_code(999)) == "error code 999, unknown to Kafka 4.3"


def test_lookup_refuses_the_code_of_success() -> None:
    with pytest.raises(ValueError, match="success"):
        error_for_code(0)
    with pytest.raises(ValueError, match="success"):
        error_from_code(0)
