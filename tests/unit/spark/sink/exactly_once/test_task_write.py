"""A task writes, drops or compares its rows, and reads all of them in each case."""

from collections.abc import Iterator
from typing import cast

import pytest

from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import SparkError
from cordwood.spark.sink.exactly_once.batch_preparation import PreparedBatch
from cordwood.spark.sink.exactly_once.intent_record import SlotRecord
from cordwood.spark.sink.exactly_once.sink_requests import Now, SinkRequest, Steps
from cordwood.spark.sink.exactly_once.task_outcome import OutcomeKind, TaskOutcome
from cordwood.spark.sink.exactly_once.task_write import (
    BeginRows,
    LeaveOpen,
    SendRows,
    TaskContent,
    write_task,
)
from cordwood.spark.sink.exactly_once.transactional_ids import TaskPlace, TransactionalIds
from tests.unit.spark.sink.exactly_once.scripted_brokers import QUERY, prepared_with, record_of

HANDLE = TransactionHandle("s-40.2-7", 1, 0, 2)


def digest_of(rows: list[int]) -> tuple[int, int]:
    return len(rows), sum(rows)


class Producer:
    """Answers the requests of a task; each batch takes `step_ms`."""

    def __init__(self, *, step_ms: int = 0) -> None:
        self.opened: list[str] = []
        self.sent: list[list[int]] = []
        self._step_ms = step_ms

    def run(self, steps: Steps[TaskOutcome]) -> TaskOutcome:
        try:
            request = next(steps)
            while True:
                request = steps.send(self._answer(request))
        except StopIteration as end:
            return cast("TaskOutcome", end.value)

    def _answer(self, request: SinkRequest[object]) -> object:
        match request:
            case BeginRows():
                self.opened.append(request.transactional_id)
            case SendRows():
                self.sent.append(request.rows)
                return digest_of(request.rows)
            case LeaveOpen():
                return HANDLE if self.sent else None
            case Now():
                return self._step_ms * len(self.sent)
        return None


class Task:
    """Runs a task of batch 5, and counts the rows that it has read."""

    def __init__(self, prepared: PreparedBatch, producer: Producer, *, attempt: int = 0) -> None:
        self.read = 0
        content = TaskContent(5, QUERY, TaskPlace(0, attempt, 7))
        self.outcome = producer.run(
            write_task(
                prepared,
                TransactionalIds(),
                batches=self._rows(),
                task=content,
                digest_of=digest_of,
            )
        )

    def _rows(self) -> Iterator[list[int]]:
        for batch in ([1, 2], [3]):
            self.read += len(batch)
            yield batch


def test_rows_are_sent_in_a_transaction_that_stays_open() -> None:
    producer = Producer()

    outcome = Task(prepared_with(record_of(4)), producer).outcome

    assert (producer.opened, producer.sent) == (["s-40.2-7"], [[1, 2], [3]])
    assert (outcome.kind, outcome.handle, outcome.number) == (OutcomeKind.WRITTEN, HANDLE, 7)
    assert (outcome.rows, outcome.digest, outcome.is_retry) == (3, 6, False)


def test_rows_of_a_decided_batch_are_read_and_dropped() -> None:
    producer = Producer()

    task = Task(prepared_with(record_of(5)), producer, attempt=1)

    assert (producer.opened, task.read) == ([], 3)
    assert (task.outcome.kind, task.outcome.is_retry) == (OutcomeKind.SKIPPED, True)


@pytest.mark.parametrize(
    ("digest", "expected"), ((6, OutcomeKind.VERIFIED), (7, OutcomeKind.DIFFERENT))
)
def test_rows_of_a_visible_slot_are_compared(digest: int, expected: OutcomeKind) -> None:
    visible = SlotRecord(0, 1, 1, 1, 3, digest, is_visible=True)

    task = Task(prepared_with(record_of(5, visible, is_withdrawn=True)), Producer())

    assert (task.outcome.kind, task.read) == (expected, 3)


def test_task_that_takes_half_of_the_timeout_stops() -> None:
    with pytest.raises(SparkError, match=r"batch 5: .* more than half of their timeout"):
        Task(prepared_with(record_of(4)), Producer(step_ms=30_001))
