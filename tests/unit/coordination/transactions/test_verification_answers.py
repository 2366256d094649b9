"""Answers of a transaction coordinator by the version of Produce and of TxnOffsetCommit."""

import pytest

from cordwood.coordination.transactions.verification_answers import (
    VerifiedOperation,
    is_retried,
    offset_commit_error,
    produce_error,
    verification_error,
)
from cordwood.core.errors import KafkaError, error_from_code

#: The code of the coordinator, and those in responses of Produce v10, v11 and v12.
PRODUCE = (
    (90, (47, 47, 47)),
    (51, (19, 19, 51)),
    (13, (19, 19, 19)),
    (14, (19, 19, 19)),
    (15, (19, 19, 19)),
    (16, (19, 19, 19)),
    (49, (49, 49, 49)),
    (120, (48, 120, 120)),
    (48, (48, 48, 48)),
    (3, (3, 3, 3)),
    (55, (55, 55, 55)),
    (31, (48, 48, 48)),
    (35, (0, 0, 0)),
)
#: The code of the coordinator, and those in responses of TxnOffsetCommit v3, v4 and v5.
OFFSET_COMMIT = (
    (13, (14, 14, 14)),
    (3, (15, 15, 15)),
    (19, (15, 15, 15)),
    (7, (15, 15, 15)),
    (6, (16, 16, 16)),
    (56, (16, 16, 16)),
    (90, (47, 47, 47)),
    (49, (49, 49, 49)),
    (51, (51, 51, 51)),
    (120, (48, 120, 120)),
    (16, (16, 16, 16)),
)


def error(code: int) -> KafkaError:
    return error_from_code(code, "the coordinator's text")


@pytest.mark.parametrize(("code", "codes"), PRODUCE)
def test_produce_response_depends_on_its_version(code: int, codes: tuple[int, int, int]) -> None:
    found = []
    for version in (10, 11, 12):
        operation = VerifiedOperation.of_produce(version)
        verified = verification_error(error(code), operation)
        found.append(0 if verified is None else produce_error(verified, operation).code)

    assert tuple(found) == codes


@pytest.mark.parametrize(("code", "codes"), OFFSET_COMMIT)
def test_offset_commit_depends_on_its_version(code: int, codes: tuple[int, int, int]) -> None:
    found = []
    for version in (3, 4, 5):
        verified = verification_error(error(code), VerifiedOperation.of_offset_commit(version))
        found.append(0 if verified is None else offset_commit_error(verified).code)

    assert tuple(found) == codes


@pytest.mark.parametrize(
    ("version", "operation"),
    (
        (3, VerifiedOperation.DEFAULT),
        (10, VerifiedOperation.DEFAULT),
        (11, VerifiedOperation.GENERIC),
        (12, VerifiedOperation.ADD),
        (13, VerifiedOperation.ADD),
    ),
)
def test_partition_is_added_by_the_leader_from_produce_12_on(
    version: int, operation: VerifiedOperation
) -> None:
    assert VerifiedOperation.of_produce(version) is operation


@pytest.mark.parametrize(
    ("version", "is_addition"), ((0, False), (3, False), (4, False), (5, True))
)
def test_partition_is_added_by_the_leader_from_offset_commit_5_on(
    version: int, *, is_addition: bool
) -> None:
    assert VerifiedOperation.of_offset_commit(version).is_addition is is_addition


@pytest.mark.parametrize(
    ("code", "waited_ms", "retried"),
    ((51, 0, True), (51, 99, True), (51, 100, False), (16, 0, False)),
)
def test_concurrent_transaction_is_retried_for_a_time(
    code: int, waited_ms: int, *, retried: bool
) -> None:
    assert is_retried(error(code), waited_ms=waited_ms, longest_ms=100) is retried


def test_error_keeps_its_text() -> None:
    verified = verification_error(error(90), VerifiedOperation.ADD)

    assert str(verified) == "the coordinator's text"
