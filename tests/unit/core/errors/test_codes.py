"""Lookup of error classes by wire code, and comparison with a copy of Kafka 4.3's table."""

from types import ModuleType

import pytest

from cordwood.core.errors import (
    ERRORS_BY_CODE,
    AccessError,
    BadRecordsError,
    ClientFaultError,
    CorruptMessageError,
    InvalidTopicError,
    KafkaError,
    OutdatedError,
    ServerFaultError,
    UnknownServerError,
    access,
    bad_records,
    client,
    error_code_of,
    error_for_code,
    error_from_code,
    error_message_of,
    outdated,
    server,
)
from tests.unit.core.errors.kafka_4_3_codes import CONSTANTS, RETRIABLE


def _leaf_name(constant: str) -> str:
    words = "".join(word.capitalize() for word in constant.split("_"))
    return words.removesuffix("Error").removesuffix("Exception") + "Error"


def test_each_constant_has_one_error_class() -> None:
    names = {code: leaf.__name__ for code, leaf in ERRORS_BY_CODE.items()}

    assert names == {code: _leaf_name(constant) for code, constant in CONSTANTS.items()}


def test_retriable_error_classes_are_those_of_kafka() -> None:
    assert {code for code, leaf in ERRORS_BY_CODE.items() if leaf.retriable} == RETRIABLE


@pytest.mark.parametrize(
    ("module", "base"),
    (
        (access, AccessError),
        (bad_records, BadRecordsError),
        (client, ClientFaultError),
        (outdated, OutdatedError),
        (server, ServerFaultError),
    ),
)
def test_error_classes_of_a_module_share_their_base(
    module: ModuleType, base: type[KafkaError]
) -> None:
    leaves = [leaf for leaf in ERRORS_BY_CODE.values() if leaf.__module__ == module.__name__]

    assert leaves
    assert {leaf.__base__ for leaf in leaves} == {base}


@pytest.mark.parametrize(
    ("leaf", "code", "retriable"),
    (
        (access.TopicAuthorizationFailedError, 29, False),
        (bad_records.InvalidRecordError, 87, False),
        (client.OffsetOutOfRangeError, 1, False),
        (outdated.NotLeaderOrFollowerError, 6, True),
        (server.RequestTimedOutError, 7, True),
    ),
)
def test_leaf_has_code_and_message(leaf: type[KafkaError], code: int, *, retriable: bool) -> None:
    error = leaf("why")

    assert error.code == code
    assert error.retriable == retriable
    assert str(error) == "why"


def test_lookup_returns_the_error_class_of_a_known_code() -> None:
    error = error_from_code(2, "wrong CRC")

    assert error_for_code(2) is CorruptMessageError
    assert type(error) is CorruptMessageError
    assert str(error) == "wrong CRC"


def test_lookup_names_the_code_when_it_is_unknown() -> None:
    error = error_from_code(999, "no")

    assert type(error) is UnknownServerError
    assert str(error) == "error code 999, unknown to Kafka 4.3: no"
    assert str(error_from_code(999)) == "error code 999, unknown to Kafka 4.3"


def test_lookup_rejects_the_code_of_success() -> None:
    with pytest.raises(ValueError, match="success"):
        error_for_code(0)
    with pytest.raises(ValueError, match="success"):
        error_from_code(0)


def test_response_without_an_error_has_code_0_and_no_message() -> None:
    assert error_code_of(None) == 0
    assert error_message_of(None) is None


def test_response_has_the_code_and_the_message_of_an_error() -> None:
    error = InvalidTopicError("no")

    assert error_code_of(error) == 17
    assert error_message_of(error) == "no"


def test_response_with_an_error_without_a_text_has_no_message() -> None:
    assert error_message_of(InvalidTopicError()) is None
