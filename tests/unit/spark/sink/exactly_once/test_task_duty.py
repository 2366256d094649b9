"""The duty of a task follows from the record, or the batch is refused with a remedy."""

from dataclasses import replace
from uuid import UUID

import pytest

from cordwood.core.errors import SparkError
from cordwood.spark.sink.exactly_once.intent_record import IntentRecord
from cordwood.spark.sink.exactly_once.task_duty import TaskDuty, duty_of
from cordwood.spark.sink.sink_options import OnMissingRecord
from tests.unit.spark.sink.exactly_once.scripted_brokers import (
    QUERY,
    prepared_with,
    record_of,
    slot_of,
)

WITHDRAWN = record_of(4, slot_of(1, is_visible=True), is_withdrawn=True)


def duty(
    record: IntentRecord | None,
    batch: int,
    *,
    slot: int = 0,
    on_missing: OnMissingRecord = OnMissingRecord.FAIL,
    query: UUID = QUERY,
    unknown: frozenset[int] = frozenset(),
) -> TaskDuty:
    prepared = replace(prepared_with(record, on_missing), unknown=unknown)
    return duty_of(prepared, batch=batch, query_id=query, slot=slot)


@pytest.mark.parametrize(
    ("record", "batch", "slot", "expected"),
    (
        (None, 0, 0, TaskDuty.WRITE),
        (record_of(4), 5, 0, TaskDuty.WRITE),
        (record_of(4), 4, 0, TaskDuty.SKIP),
        (WITHDRAWN, 4, 0, TaskDuty.WRITE),
        (WITHDRAWN, 4, 1, TaskDuty.VERIFY),
    ),
)
def test_duty_follows_from_the_record(
    record: IntentRecord | None, batch: int, slot: int, expected: TaskDuty
) -> None:
    assert duty(record, batch, slot=slot) is expected


@pytest.mark.parametrize("record", (None, record_of(2)))
@pytest.mark.parametrize(
    ("policy", "expected"),
    ((OnMissingRecord.ASSUME_DONE, TaskDuty.ASSUME), (OnMissingRecord.REPLAY, TaskDuty.WRITE)),
)
def test_batch_without_a_record_is_treated_as_the_option_says(
    record: IntentRecord | None, policy: OnMissingRecord, expected: TaskDuty
) -> None:
    assert duty(record, 4, on_missing=policy) is expected


def test_batch_without_a_record_is_refused_by_default() -> None:
    with pytest.raises(SparkError, match=r"no intent record.*onMissingRecord=assume-done"):
        duty(None, 4)


@pytest.mark.parametrize(
    ("policy", "expected"),
    (
        (OnMissingRecord.ASSUME_DONE, [TaskDuty.ASSUME, TaskDuty.ASSUME]),
        (OnMissingRecord.REPLAY, [TaskDuty.WRITE, TaskDuty.VERIFY]),
    ),
)
@pytest.mark.parametrize("batch", (0, 4))
def test_batch_with_an_unknown_outcome_is_treated_as_the_option_says(
    batch: int, policy: OnMissingRecord, expected: list[TaskDuty]
) -> None:
    record = record_of(batch, slot_of(0), slot_of(1))

    found = [
        duty(record, batch, slot=slot, on_missing=policy, unknown=frozenset({0}))
        for slot in range(2)
    ]

    assert found == expected


@pytest.mark.parametrize("policy", OnMissingRecord)
def test_batch_after_one_with_an_unknown_outcome_is_written(policy: OnMissingRecord) -> None:
    """Spark goes on only after all transactions were committed."""
    record = record_of(4, slot_of(0))

    assert duty(record, 5, on_missing=policy, unknown=frozenset({0})) is TaskDuty.WRITE


@pytest.mark.parametrize(
    ("is_job", "remedy"), ((False, "onMissingRecord=replay"), (True, "with a new jobId"))
)
def test_unknown_outcome_is_an_error_by_default(is_job: bool, remedy: str) -> None:  # noqa: FBT001  # a parameter of the test
    found = prepared_with(record_of(0, slot_of(0)))
    plan = replace(found.plan, is_job=is_job)
    prepared = replace(found, plan=plan, unknown=frozenset({0}))

    with pytest.raises(SparkError, match=rf"batch 0 .*1 transaction\(s\).*{remedy}"):
        duty_of(prepared, batch=0, query_id=QUERY, slot=0)


def test_record_of_another_query_is_refused() -> None:
    with pytest.raises(SparkError, match="cordwood groups delete s`"):
        duty(record_of(3), 4, query=UUID(int=8))


def test_checkpoint_that_is_older_than_the_record_is_refused() -> None:
    with pytest.raises(SparkError, match="batch 4 is older than the last written batch 6"):
        duty(record_of(6), 4)


def test_batch_after_a_withdrawn_one_is_refused() -> None:
    with pytest.raises(SparkError, match="batch 4 was withdrawn"):
        duty(WITHDRAWN, 5)
