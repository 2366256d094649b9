"""The duty of a write task: whether it writes its rows, drops them or compares them.

    record of the batch            the rows are dropped: they are visible
    record of the batch before     the rows are written
    record that was withdrawn      visible slots are compared by rows and digest, others written
    record with unknown outcomes   by onMissingRecord, if it is that of the batch
    no record, and not batch 0     by onMissingRecord
    record of a later batch        refused: the checkpoint is older than the topic
    record of another query        refused

A task that drops its rows reads all of them: operators before the sink (aggregations, joins) write
their state only when their output has been read to its end.
"""

from enum import StrEnum
from typing import Final
from uuid import UUID

from cordwood.core.errors import SparkError
from cordwood.spark.sink.exactly_once.batch_preparation import PreparedBatch
from cordwood.spark.sink.exactly_once.intent_record import IntentRecord
from cordwood.spark.sink.sink_options import OnMissingRecord

_RESET: Final = (
    "set transactionalIdPrefix to a new name, or remove the old record with `cordwood groups delete"
)


class TaskDuty(StrEnum):
    """The treatment of a task's rows."""

    WRITE = "write"
    SKIP = "skip"
    ASSUME = "assume"
    VERIFY = "verify"


def duty_of(prepared: PreparedBatch, *, batch: int, query_id: UUID, slot: int) -> TaskDuty:
    """Return the duty of a slot of a batch; raise SparkError if the batch must not be written."""
    record = prepared.record
    if record is None or record.batch < batch - 1:
        return _without_record(prepared, record, batch)
    _ensure_owner(prepared, record, query_id)
    if record.batch > batch:
        raise _older_checkpoint(prepared, record, batch)
    if record.batch == batch:
        return _of_replay(prepared, record, slot)
    if record.is_withdrawn:
        raise SparkError(
            f"batch {record.batch} was withdrawn, because its transactions had timed out, and was"
            f" never written again; the checkpoint goes on with batch {batch}",
            remedy="restore the checkpoint in which that batch is not committed",
        )
    return TaskDuty.WRITE


def _of_replay(prepared: PreparedBatch, record: IntentRecord, slot: int) -> TaskDuty:
    policy = prepared.plan.on_missing
    if prepared.unknown and policy is OnMissingRecord.FAIL:
        raise _unknown_outcome(prepared, record)
    if prepared.unknown and policy is OnMissingRecord.ASSUME_DONE:
        return TaskDuty.ASSUME
    if not prepared.unknown and not record.is_withdrawn:
        return TaskDuty.SKIP
    return TaskDuty.VERIFY if slot in prepared.visible() else TaskDuty.WRITE


def _unknown_outcome(prepared: PreparedBatch, record: IntentRecord) -> SparkError:
    remedy = (
        "look for the batch's rows in the topic; then set onMissingRecord=assume-done if they are"
        " there, or onMissingRecord=replay if not"
    )
    if prepared.plan.is_job:
        remedy = (
            "look for the rows in the topic; if they are not there, write them with a new jobId"
        )
    return SparkError(
        f"batch {record.batch} of the sink {prepared.plan.names.sink!r}: brokers no longer know the"
        f" outcome of {len(prepared.unknown)} transaction(s), since the sink was idle for longer"
        " than transactional.id.expiration.ms",
        remedy=remedy,
    )


def _without_record(prepared: PreparedBatch, record: IntentRecord | None, batch: int) -> TaskDuty:
    policy = prepared.plan.on_missing
    if batch == 0 or policy is OnMissingRecord.REPLAY:
        return TaskDuty.WRITE
    if policy is OnMissingRecord.ASSUME_DONE:
        return TaskDuty.ASSUME
    found = "no intent record" if record is None else f"a record of batch {record.batch} only"
    raise SparkError(
        f"batch {batch}: the group {prepared.plan.names.group!r} has {found}, so it is unknown"
        " whether the batch was written (offsets of a group expire after"
        " offsets.retention.minutes, and a query that was at least once has none)",
        remedy="look for the batch's rows in the topic; then set onMissingRecord=assume-done if"
        " they are there, or onMissingRecord=replay if not",
    )


def _ensure_owner(prepared: PreparedBatch, record: IntentRecord, query_id: UUID) -> None:
    if record.query_id != query_id:
        names = prepared.plan.names
        raise SparkError(
            f"the sink {names.sink!r} has a record of query {record.query_id}, and this is query"
            f" {query_id}: its rows would be dropped as duplicates",
            remedy=f"{_RESET} {names.group}` if that query has been given up",
        )


def _older_checkpoint(prepared: PreparedBatch, record: IntentRecord, batch: int) -> SparkError:
    return SparkError(
        f"batch {batch} is older than the last written batch {record.batch}: the checkpoint was"
        " restored or copied from an earlier time, and rows would be lost or written twice",
        remedy=f"use the latest checkpoint; to write the rows again {_RESET}"
        f" {prepared.plan.names.group}`",
    )
