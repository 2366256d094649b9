"""Brokers of the unit tests: answers by the type of the request, and the requests that came."""

from collections.abc import Callable, Mapping
from typing import TypeVar, cast
from uuid import UUID

from cordwood.client.transaction_handle import TransactionHandle
from cordwood.spark.sink.exactly_once.batch_preparation import PreparedBatch, SinkPlan
from cordwood.spark.sink.exactly_once.intent_record import (
    IntentRecord,
    SlotRecord,
    join_record,
    split_record,
)
from cordwood.spark.sink.exactly_once.sink_names import Incarnation, SinkNames
from cordwood.spark.sink.exactly_once.sink_requests import (
    CountPartitions,
    Describe,
    End,
    Ended,
    EndResult,
    Fence,
    IdState,
    ListOpen,
    Now,
    ReadRecord,
    SinkRequest,
    Steps,
    WriteRecord,
)
from cordwood.spark.sink.exactly_once.task_outcome import OutcomeKind, TaskOutcome
from cordwood.spark.sink.sink_options import OnMissingRecord

R = TypeVar("R")
QUERY = UUID(int=7)
NAMES = SinkNames("s")
PLAN = SinkPlan(names=NAMES, timeout_ms=60_000)
MINE = Incarnation(40, 2)
DRIVER = TransactionHandle("s-driver", 40, 5, 2)


def record_of(batch: int, *slots: SlotRecord, is_withdrawn: bool = False) -> IntentRecord:
    return IntentRecord(
        query_id=QUERY,
        batch=batch,
        incarnation=MINE,
        transaction_version=2,
        slots=slots,
        is_withdrawn=is_withdrawn,
    )


def slot_of(slot: int, *, is_visible: bool = False) -> SlotRecord:
    return SlotRecord(slot, slot + 10, slot + 100, 0, 3, 99, is_visible)


def prepared_with(
    record: IntentRecord | None, on_missing: OnMissingRecord = OnMissingRecord.FAIL
) -> PreparedBatch:
    plan = SinkPlan(names=NAMES, timeout_ms=60_000, on_missing=on_missing)
    return PreparedBatch(
        plan=plan, driver=DRIVER, incarnation=MINE, record=record, prepared_ms=1_000
    )


def outcome_of(slot: int, kind: OutcomeKind = OutcomeKind.WRITTEN) -> TaskOutcome:
    written = slot_of(slot)
    handle = TransactionHandle(NAMES.task(MINE, written.number), written.producer_id, 0, 2)
    return TaskOutcome(
        kind=kind,
        slot=slot,
        query_id=QUERY,
        rows=3,
        digest=99,
        handle=handle if kind is OutcomeKind.WRITTEN else None,
        number=written.number,
    )


class ScriptedBrokers:
    """Brokers that keep a record and answer every request."""

    def __init__(
        self,
        record: IntentRecord | None = None,
        *,
        open_ids: Mapping[str, int] | None = None,
        ends: Mapping[str, EndResult] | None = None,
        driver_epoch: int = DRIVER.epoch,
        now_ms: int = 2_000,
    ) -> None:
        self.requests: list[SinkRequest[object]] = []
        self.record = record
        self._open = dict(open_ids or {})
        self._ends = ends or {}
        self._driver_epoch = driver_epoch
        self._now_ms = now_ms

    def run(self, steps: Steps[R]) -> R:
        """Run steps to their end."""
        try:
            request = next(steps)
            while True:
                self.requests.append(request)
                request = steps.send(self.answer(request))
        except StopIteration as end:
            return cast("R", end.value)

    def ended(self, *, commit: bool) -> list[str]:
        """Return the ids that were ended this way."""
        ends = (each for each in self.requests if isinstance(each, End))
        return [
            handle.transactional_id
            for each in ends
            if each.commit is commit
            for handle in each.handles
        ]

    def answer(self, request: SinkRequest[object]) -> object:
        """Answer one request."""
        answers: dict[type, Callable[[], object]] = {
            Now: lambda: self._now_ms,
            CountPartitions: lambda: 1,
            ListOpen: lambda: tuple(self._open),
            Fence: lambda: DRIVER,
            ReadRecord: self._metadata,
        }
        match request:
            case Describe():
                return self._described(request)
            case WriteRecord():
                self.record = join_record(dict(enumerate(request.parts)))
                return None
            case End():
                return {
                    each: Ended(
                        self._ends.get(each.transactional_id, EndResult.ENDED),
                        each._replace(epoch=each.epoch + 1),
                    )
                    for each in request.handles
                }
        return answers[type(request)]()

    def _metadata(self) -> dict[int, str]:
        parts = () if self.record is None else split_record(self.record, partitions=1)
        return dict(enumerate(parts))

    def _described(self, request: Describe) -> dict[str, IdState]:
        found = {
            name: IdState("Ongoing", self._open[name], 0, 1_500)
            for name in request.transactional_ids
            if name in self._open
        }
        if NAMES.driver in request.transactional_ids:
            found[NAMES.driver] = IdState("Empty", 40, self._driver_epoch, None)
        return found
