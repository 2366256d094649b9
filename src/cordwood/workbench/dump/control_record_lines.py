"""Lines of control records, as Kafka's dump tool prints them.

    | offset: 3 ... headerKeys: [] endTxnMarker: COMMIT coordinatorEpoch: 9
    | offset: 0 ... headerKeys: [] LeaderChange: {"version":0,"leaderId":1,"voters":[...], ...}

An unknown type is printed as its number. Keys and values are not printed; without metadata the line
is empty.
"""

import json
from collections.abc import Iterator
from typing import TypeAlias

from cordwood.core.errors import BadRecordsError
from cordwood.core.uuids import Uuid, format_uuid
from cordwood.records.control_records import (
    Control,
    EndTransaction,
    KRaftVersion,
    LeaderChange,
    QuorumVoter,
    SnapshotHeader,
    Voter,
    Voters,
    read_control,
)
from cordwood.records.record import Record, TimestampType
from cordwood.records.record_batch import RecordBatch
from cordwood.records.record_lines import (
    LABELS,
    Line,
    LineStyle,
    RawRecord,
    RecordLines,
    gather,
    metadata_of,
    raw_records,
)

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int"


def control_lines(batch: RecordBatch, style: LineStyle, *, previous: int) -> RecordLines:
    """Return the lines of a control batch, up to its first fault."""
    return gather(_lines(batch, style), style, previous=previous)


def _lines(batch: RecordBatch, style: LineStyle) -> Iterator[Line]:
    label = LABELS[batch.timestamp_type]
    for record in raw_records(batch, limit=style.limit):
        text = b""
        if style.has_metadata:
            text = metadata_of(record, label)
            try:
                text += control_text(record)
            except BadRecordsError as error:
                yield Line(record.offset, record.timestamp, text, error)
                return
        yield Line(record.offset, record.timestamp, text)


def control_text(record: RawRecord) -> bytes:
    """Return the decoded content of a control record, as text."""
    control = read_control(
        Record(record.offset, record.timestamp, TimestampType.CREATE_TIME, record.key, record.value)
    )
    if control is None:
        number = int.from_bytes((record.key or b"")[2:4], signed=True)
        return b" controlType: UNKNOWN(%d)" % number
    if isinstance(control, EndTransaction):
        name = b"COMMIT" if control.is_commit else b"ABORT"
        return b" endTxnMarker: %s coordinatorEpoch: %d" % (name, control.coordinator_epoch)
    title, content = _title_and_fields(control)
    fields = {"version": control.version, **content}
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
    return f" {title} {text}".encode()


def _title_and_fields(control: Control) -> tuple[str, dict[str, Json]]:
    """Return Kafka's title of a KRaft control record, and its fields."""
    match control:
        case LeaderChange():
            return "LeaderChange:", {
                "leaderId": control.leader_id,
                "voters": [_quorum_voter(voter) for voter in control.voters],
                "grantingVoters": [_quorum_voter(voter) for voter in control.granting_voters],
            }
        case SnapshotHeader():
            timestamp = control.last_contained_log_timestamp
            return "SnapshotHeader", {"lastContainedLogTimestamp": timestamp}
        case KRaftVersion():
            return "KRaftVersion", {"kRaftVersion": control.kraft_version}
        case Voters():
            return "KRaftVoters", {"voters": [_voter(voter) for voter in control.voters]}
        case _:  # the footer of a snapshot has no fields
            return "SnapshotFooter", {}


def _quorum_voter(voter: QuorumVoter) -> Json:
    if voter.directory_id is None:
        return {"voterId": voter.voter_id}
    return {"voterId": voter.voter_id, "voterDirectoryId": format_uuid(Uuid(voter.directory_id))}


def _voter(voter: Voter) -> Json:
    return {
        "voterId": voter.voter_id,
        "voterDirectoryId": format_uuid(Uuid(voter.directory_id)),
        "endpoints": [
            {"name": point.name, "host": point.host, "port": point.port}
            for point in voter.endpoints
        ],
        "kRaftVersionFeature": {
            "minSupportedVersion": voter.min_supported_version,
            "maxSupportedVersion": voter.max_supported_version,
        },
    }
