"""Rules of EndTxn: every row of the tables of versions 1 and 2, and the ends by the broker."""

from dataclasses import dataclass

import pytest

from cordwood.coordination.ports import TransactionMarker
from cordwood.coordination.transactions.end_transaction import (
    EndStep,
    TransactionEnd,
    decide_end,
    marker_of,
    prepare_end,
    prepare_fenced_abort,
)
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_state import (
    STATES_BY_NAME,
    TransactionState,
)
from cordwood.core.errors import KafkaError
from tests.unit.coordination.transaction_samples import NOW, ORDERS, metadata

PREPARE = "prepare"
REPEATED = "repeated"
COMMITS = {"commit": True, "abort": False}


@dataclass
class Case:
    """A row of a table: a state, an end with an epoch relative to the stored one, a result."""

    state: str
    end: str
    epoch: int
    result: str | int

    def __str__(self) -> str:
        return f"{self.state}, {self.end} at epoch {self.epoch:+}: {self.result}"


def table(text: str) -> list[Case]:
    rows = (line.split() for line in text.strip().splitlines())
    return [
        Case(state, end, int(epoch), int(result) if result.isdigit() else result)
        for state, end, epoch, result in rows
    ]


def result_of(
    before: TransactionMetadata | None, end: TransactionEnd, *, is_pending: bool = False
) -> str | int:
    """Return the code of an error, or the kind of success."""
    try:
        step = decide_end(before, end, is_pending=is_pending)
    except KafkaError as error:
        return error.code
    return PREPARE if step is EndStep.PREPARE else REPEATED


# Version 1: the epoch of the request must be the stored one.
V1 = table("""
    Empty           commit   0  48
    Empty           abort    0  48
    Empty           commit  -1  90
    Ongoing         commit   0  prepare
    Ongoing         abort    0  prepare
    Ongoing         commit  -1  90
    Ongoing         abort    1  90
    PrepareCommit   commit   0  51
    PrepareCommit   abort    0  48
    PrepareCommit   commit  -1  90
    PrepareAbort    commit   0  48
    PrepareAbort    abort    0  51
    PrepareAbort    abort   -1  90
    CompleteCommit  commit   0  repeated
    CompleteCommit  abort    0  48
    CompleteCommit  commit  -1  90
    CompleteAbort   commit   0  48
    CompleteAbort   abort    0  repeated
    CompleteAbort   abort   -1  90
""")

# Version 2: epoch -1 is a repeated request, epoch 0 the current producer.
V2 = table("""
    Ongoing         commit   0  prepare
    Ongoing         abort    0  prepare
    Ongoing         commit  -1  90
    Ongoing         abort   -1  90
    Ongoing         commit   1  90
    Ongoing         abort    1  90
    Empty           commit   0  48
    Empty           abort    0  prepare
    Empty           commit  -1  90
    Empty           abort   -1  90
    Empty           commit   1  90
    Empty           abort    1  90
    PrepareCommit   commit  -1  51
    PrepareCommit   abort   -1  48
    PrepareCommit   commit   0  90
    PrepareCommit   abort    0  90
    PrepareCommit   commit   1  90
    PrepareCommit   commit  -2  90
    PrepareAbort    commit  -1  48
    PrepareAbort    abort   -1  51
    PrepareAbort    commit   0  90
    PrepareAbort    abort    0  90
    PrepareAbort    abort    1  90
    PrepareAbort    abort   -2  90
    CompleteCommit  commit  -1  repeated
    CompleteCommit  commit   0  48
    CompleteCommit  abort   -1  48
    CompleteCommit  abort    0  prepare
    CompleteCommit  commit  -2  90
    CompleteCommit  abort    1  90
    CompleteAbort   commit  -1  48
    CompleteAbort   commit   0  48
    CompleteAbort   abort   -1  repeated
    CompleteAbort   abort    0  prepare
    CompleteAbort   abort   -2  90
    CompleteAbort   commit   1  90
""")


@pytest.mark.parametrize("case", V1, ids=str)
def test_end_of_version_1(case: Case) -> None:
    end = TransactionEnd(7, 5 + case.epoch, COMMITS[case.end], 0)

    assert result_of(metadata(STATES_BY_NAME[case.state]), end) == case.result


@pytest.mark.parametrize("case", V2, ids=str)
def test_end_of_version_2(case: Case) -> None:
    end = TransactionEnd(7, 5 + case.epoch, COMMITS[case.end], 2)

    assert result_of(metadata(STATES_BY_NAME[case.state]), end) == case.result


# -- the order of the checks


@pytest.mark.parametrize("version", (0, 2))
def test_unknown_id_has_no_producer(version: int) -> None:
    assert result_of(None, TransactionEnd(7, 5, True, version)) == 49  # noqa: FBT003 - a field


@pytest.mark.parametrize("version", (0, 2))
def test_other_producer_id_is_checked_before_the_epoch(version: int) -> None:
    end = TransactionEnd(8, 99, True, version)  # noqa: FBT003 - a field

    assert result_of(metadata(TransactionState.ONGOING), end) == 49


@pytest.mark.parametrize(
    ("version", "producer", "code"),
    (
        (0, (8, 5), 49),
        (0, (7, 4), 90),
        (0, (7, 5), 51),
        (2, (8, 5), 51),
        (2, (7, 99), 51),
        (2, (7, 5), 51),
    ),
)
def test_pending_transition_is_checked_first_in_version_2(
    version: int, producer: tuple[int, int], code: int
) -> None:
    end = TransactionEnd(*producer, True, version)  # noqa: FBT003 - a field

    assert result_of(metadata(TransactionState.ONGOING), end, is_pending=True) == code


# -- the end of the epochs

ROTATED = metadata(TransactionState.COMPLETE_COMMIT, (8, 0))._replace(previous_producer_id=7)


@pytest.mark.parametrize(
    ("producer", "commit", "result"),
    (
        ((7, 32_766), True, REPEATED),
        ((7, 32_766), False, 48),
        ((7, 32_765), True, 49),
        ((6, 32_766), True, 49),
        ((8, 0), False, PREPARE),
    ),
)
def test_repeated_end_of_the_last_epoch_has_the_previous_producer(
    producer: tuple[int, int], *, commit: bool, result: str | int
) -> None:
    assert result_of(ROTATED, TransactionEnd(*producer, commit, 2)) == result


def test_previous_producer_is_unknown_after_another_transaction() -> None:
    later = ROTATED._replace(previous_producer_id=8, producer_epoch=1)

    assert result_of(later, TransactionEnd(7, 32_766, True, 2)) == 49  # noqa: FBT003 - a field


@pytest.mark.parametrize("epoch", (32_766, 32_767))
def test_end_of_the_last_epoch_needs_a_producer_id(epoch: int) -> None:
    before = metadata(TransactionState.ONGOING, (7, epoch))
    end = TransactionEnd(7, epoch, False, 2)  # noqa: FBT003 - a field

    after = prepare_end(before, end, producer_id=8, now_ms=NOW)

    assert prepare_end(before, end, producer_id=None, now_ms=NOW) is None
    assert after is not None
    assert (after.producer_epoch, after.next_producer) == (32_767, (8, 0))


def test_end_of_version_1_never_needs_a_producer_id() -> None:
    before = metadata(TransactionState.ONGOING, (7, 32_766))

    after = prepare_end(before, TransactionEnd(7, 32_766, True, 0), producer_id=None, now_ms=NOW)  # noqa: FBT003 - a field

    assert after is not None
    assert after.producer_epoch == 32_766


def test_producer_id_that_is_not_needed_is_not_used() -> None:
    before = metadata(TransactionState.ONGOING)

    after = prepare_end(before, TransactionEnd(7, 5, True, 2), producer_id=8, now_ms=NOW)  # noqa: FBT003 - a field

    assert after is not None
    assert after.next_producer == (7, 6)


# -- ends by the broker


@pytest.mark.parametrize(
    ("level", "epochs", "version"), ((0, (6, -1), 0), (1, (6, -1), 0), (2, (6, 5), 2))
)
def test_fenced_abort_raises_the_epoch_once(
    level: int, epochs: tuple[int, int], version: int
) -> None:
    after = prepare_fenced_abort(
        metadata(TransactionState.ONGOING), level=level, producer_id=None, now_ms=NOW
    )

    assert after is not None
    assert after.state is TransactionState.PREPARE_ABORT
    assert (after.producer_epoch, after.last_producer_epoch) == epochs
    assert after.client_version == version


def test_fenced_abort_of_the_last_epoch_needs_a_producer_id_in_version_2() -> None:
    before = metadata(TransactionState.ONGOING, (7, 32_766))

    after = prepare_fenced_abort(before, level=2, producer_id=8, now_ms=NOW)

    assert prepare_fenced_abort(before, level=2, producer_id=None, now_ms=NOW) is None
    assert after is not None
    assert (after.producer_epoch, after.next_producer_id) == (32_767, 8)


def test_fenced_abort_of_version_1_uses_the_epoch_that_only_markers_have() -> None:
    before = metadata(TransactionState.ONGOING, (7, 32_766))

    after = prepare_fenced_abort(before, level=0, producer_id=None, now_ms=NOW)

    assert after is not None
    assert (after.producer_epoch, after.next_producer_id) == (32_767, -1)


# -- markers


@pytest.mark.parametrize("version", (0, 2))
def test_marker_has_the_epoch_and_the_version_of_its_record(version: int) -> None:
    before = metadata(TransactionState.PREPARE_COMMIT, (7, 6))._replace(client_version=version)

    marker = marker_of(before, coordinator_epoch=3)

    assert marker == TransactionMarker(
        7, 6, 3, is_commit=True, partitions=frozenset({ORDERS}), transaction_version=version
    )
