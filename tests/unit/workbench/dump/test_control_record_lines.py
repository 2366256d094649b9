"""Control records as Kafka's dump tool prints them."""

import pytest

from cordwood.core.errors import InvalidRecordError
from cordwood.records.batch_builder import BatchFields
from cordwood.records.control_records import (
    Control,
    Endpoint,
    EndTransaction,
    KRaftVersion,
    LeaderChange,
    QuorumVoter,
    SnapshotFooter,
    SnapshotHeader,
    Voter,
    Voters,
    control_batch,
)
from cordwood.records.record_batch import RecordBatch
from cordwood.records.record_lines import LineStyle
from cordwood.workbench.dump.control_record_lines import control_lines
from tests.unit.records.segments import changed

ID = bytes(15) + b"\1"
DIRECTORY = '"voterDirectoryId":"AAAAAAAAAAAAAAAAAAAAAQ"'
LEADER = 'LeaderChange: %s,"grantingVoters":[]}'
VOTERS = (
    f'KRaftVoters {{"version":0,"voters":[{{"voterId":1,{DIRECTORY},'
    '"endpoints":[{"name":"C","host":"größe","port":1}],'
    '"kRaftVersionFeature":{"minSupportedVersion":0,"maxSupportedVersion":1}}]}'
)
FIELDS = BatchFields(producer_id=7, producer_epoch=1, base_offset=3)


def batch_of(control: Control) -> bytes:
    return bytes(control_batch(control, FIELDS, timestamp=1000))


def shown(data: bytes) -> str:
    text = control_lines(RecordBatch(data), LineStyle(has_data=True), previous=-1).text.decode()
    return text.partition("headerKeys: [] ")[2]


@pytest.mark.parametrize(
    ("control", "text"),
    (
        (
            EndTransaction(is_commit=True, coordinator_epoch=9),
            "endTxnMarker: COMMIT coordinatorEpoch: 9",
        ),
        (
            EndTransaction(is_commit=False, coordinator_epoch=-1),
            "endTxnMarker: ABORT coordinatorEpoch: -1",
        ),
        (
            LeaderChange(1, (QuorumVoter(1),), ()),
            LEADER % '{"version":0,"leaderId":1,"voters":[{"voterId":1}]',
        ),
        (
            LeaderChange(1, (QuorumVoter(1, ID),), (), version=1),
            LEADER % f'{{"version":1,"leaderId":1,"voters":[{{"voterId":1,{DIRECTORY}}}]',
        ),
        (SnapshotHeader(5), 'SnapshotHeader {"version":0,"lastContainedLogTimestamp":5}'),
        (SnapshotFooter(), 'SnapshotFooter {"version":0}'),
        (KRaftVersion(1), 'KRaftVersion {"version":0,"kRaftVersion":1}'),
        (
            Voters((Voter(1, ID, (Endpoint("C", "größe", 1),), 0, 1),)),
            VOTERS,
        ),
    ),
)
def test_control_record_is_decoded(control: Control, text: str) -> None:
    assert shown(batch_of(control)) == text + "\n"


def test_control_record_of_an_unknown_type_has_its_number() -> None:
    marker = batch_of(EndTransaction(is_commit=True, coordinator_epoch=9))
    key_at = marker.index(b"\0\0\0\1", 61)

    assert shown(changed(marker, key_at, b"\0\0\xff\xfe")) == "controlType: UNKNOWN(-2)\n"


def test_line_of_an_unreadable_control_record_is_incomplete() -> None:
    marker = batch_of(EndTransaction(is_commit=True, coordinator_epoch=9))
    damaged = changed(marker, marker.index(b"\0\0\0\1", 61), b"\xff\xff\0\1")

    found = control_lines(RecordBatch(damaged), LineStyle(), previous=2)

    assert found.text.endswith(b"headerKeys: []")
    assert isinstance(found.error, InvalidRecordError)


def test_control_record_without_metadata_is_an_empty_line() -> None:
    batch = RecordBatch(batch_of(KRaftVersion(1)))

    assert control_lines(batch, LineStyle(has_metadata=False), previous=2).text == b"\n"
