"""Preparation of a batch, before its tasks: fence, finish the last decision, abort orphans.

    1  InitProducerId of the driver's id       earlier drivers can no longer decide
    2  read the intent record                  stable: no earlier decision is still under way
    3  commit the transactions that it names   once per decision and process
    4  abort other open transactions of the sink
    5  hand the result to the tasks

Step 3 may find transactions that have timed out. If all are lost, the decision is withdrawn and the
batch is written again. If some are lost, the visible slots stay in the withdrawn record: a replay
compares them by digest and writes the others. If brokers no longer know an outcome, the duty of the
tasks decides: only a batch that is repeated needs it (`onMissingRecord`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from cordwood.client.transaction_handle import TransactionHandle
from cordwood.spark.sink.exactly_once.intent_record import IntentRecord, SlotRecord
from cordwood.spark.sink.exactly_once.open_transactions import abort_orphans
from cordwood.spark.sink.exactly_once.record_access import read_record, write_record
from cordwood.spark.sink.exactly_once.sink_names import Incarnation, SinkNames
from cordwood.spark.sink.exactly_once.sink_requests import (
    COMPLETE_COMMIT,
    PREPARE_COMMIT,
    Describe,
    End,
    EndResult,
    Fence,
    IdState,
    Now,
    Steps,
    ask,
)
from cordwood.spark.sink.sink_options import OnMissingRecord

_COMMITTED: Final = frozenset({COMPLETE_COMMIT, PREPARE_COMMIT})


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkPlan:
    """The facts of a sink that its options give."""

    names: SinkNames
    timeout_ms: int
    on_missing: OnMissingRecord = OnMissingRecord.FAIL
    #: Whether decisions are recorded: a write that is never repeated needs none.
    has_record: bool = True
    #: Whether it is a batch write, which has no batches after the first one.
    is_job: bool = False


@dataclass(slots=True)
class DriverMemory:
    """The memory of a driver's process from batch to batch; its loss costs requests only."""

    incarnation: Incarnation | None = None
    #: The record whose transactions this process has seen committed.
    resolved: IntentRecord | None = None
    #: The record of the preparation before, and whether there was one.
    seen: IntentRecord | None = None
    is_swept: bool = False

    def is_sweep_due(self, record: IntentRecord | None) -> bool:
        """Return whether orphans may exist: at the start, and after a batch without a decision."""
        return not self.is_swept or record == self.seen


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedBatch:
    """The result of a preparation; tasks receive it with the writer."""

    plan: SinkPlan
    #: The driver's identity of this batch.
    driver: TransactionHandle
    incarnation: Incarnation
    record: IntentRecord | None
    prepared_ms: int
    #: Orphaned transactions that the preparation has aborted.
    aborted: int = field(default=0, compare=False)
    #: Slots of the record whose outcome the brokers no longer know.
    unknown: frozenset[int] = frozenset()

    def visible(self) -> dict[int, SlotRecord]:
        """Return the visible slots that a replay of the record's batch does not write again."""
        record = self.record
        if record is None or record.is_withdrawn:
            return {} if record is None else record.visible()
        if not self.unknown or self.plan.on_missing is not OnMissingRecord.REPLAY:
            return {}
        return {
            each.slot: each._replace(is_visible=True)
            for each in record.slots
            if each.slot not in self.unknown
        }


class Resolution(NamedTuple):
    """The driver's next identity, the record after its resolution, and slots without an answer."""

    driver: TransactionHandle
    record: IntentRecord
    unknown: frozenset[int] = frozenset()


def prepare_batch(plan: SinkPlan, memory: DriverMemory) -> Steps[PreparedBatch]:
    """Prepare the next batch; raise SparkError if it must not be written."""
    now_ms = yield from ask(Now())
    driver = yield from ask(Fence(plan.names.driver, plan.timeout_ms))
    if memory.incarnation is None:
        memory.incarnation = Incarnation(driver.producer_id, driver.epoch)
    record = (yield from read_record(plan.names)) if plan.has_record else None
    unknown: frozenset[int] = frozenset()
    if record is not None and not record.is_withdrawn and record != memory.resolved:
        driver, record, unknown = yield from resolve_record(plan, driver, record=record)
        memory.resolved = None if unknown else record
    aborted = 0
    if memory.is_sweep_due(record):
        aborted = yield from abort_orphans(plan.names, driver)
        memory.is_swept = True
    memory.seen = record
    return PreparedBatch(
        plan=plan,
        driver=driver,
        incarnation=memory.incarnation,
        record=record,
        prepared_ms=now_ms,
        aborted=aborted,
        unknown=unknown,
    )


def resolve_record(
    plan: SinkPlan, driver: TransactionHandle, *, record: IntentRecord
) -> Steps[Resolution]:
    """Commit the transactions of a decision.

    The record is withdrawn if transactions are lost. Those whose outcome is unknown are lost for a
    replay, and visible if they are assumed to be done. If none is known to be lost, the batch may
    be finished, so the record stays.
    """
    handles = tuple(record.handles(plan.names))
    answers = yield from ask(End(handles, commit=True))
    left = [handle for handle in handles if answers[handle].result is not EndResult.ENDED]
    if not left:
        return Resolution(driver, record)
    states = (yield from ask(Describe(tuple(each.transactional_id for each in left)))) or {}
    left = [each for each in left if not _is_committed(each, states)]
    unknown = {
        each.transactional_id for each in left if answers[each].result is EndResult.UNKNOWN_ID
    }
    lost = {each.transactional_id for each in left} - unknown
    if not lost or (unknown and plan.on_missing is OnMissingRecord.FAIL):
        return Resolution(driver, record, _slots_of(plan.names, record, unknown))
    if plan.on_missing is OnMissingRecord.REPLAY:
        lost |= unknown
    withdrawn = replace(
        record,
        is_withdrawn=True,
        slots=tuple(
            each._replace(is_visible=True)
            for each in record.slots
            if each.is_visible or _name(plan.names, record, each) not in lost
        ),
    )
    after = yield from write_record(plan.names, driver, record=withdrawn)
    return Resolution(after, withdrawn)


def _slots_of(names: SinkNames, record: IntentRecord, ids: Collection[str]) -> frozenset[int]:
    return frozenset(
        each.slot
        for each in record.slots
        if not each.is_visible and _name(names, record, each) in ids
    )


def _name(names: SinkNames, record: IntentRecord, slot: SlotRecord) -> str:
    return names.task(record.incarnation, slot.number)


def _is_committed(handle: TransactionHandle, states: Mapping[str, IdState]) -> bool:
    """Return whether a coordinator describes this very transaction as committed."""
    state = states.get(handle.transactional_id)
    return (
        state is not None
        and state.state in _COMMITTED
        and state.producer_id == handle.producer_id
        and state.epoch - handle.epoch in {0, 1}
    )
