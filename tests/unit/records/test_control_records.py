"""Control records: golden bytes of markers, round trips of each schema, rejected input."""

import pytest

from cordwood.core.errors import BytesError, InvalidRecordError
from cordwood.records.batch_builder import BatchFields
from cordwood.records.compression import Codec
from cordwood.records.control_records import (
    Control,
    ControlType,
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
    control_key,
    control_type,
    control_value,
    read_control,
    read_plain_marker,
)
from cordwood.records.record import Record, TimestampType
from cordwood.records.record_batch import HEADER_SIZE, RecordBatch

MARKER = BatchFields(base_offset=43, partition_leader_epoch=0, producer_id=7, producer_epoch=1)
DIRECTORY = bytes(range(16))
LEADER_CHANGE = LeaderChange(3, (QuorumVoter(1), QuorumVoter(3)), (QuorumVoter(3),))


def record(key: bytes | None, value: bytes | None) -> Record:
    return Record(0, 0, TimestampType.CREATE_TIME, key, value)


@pytest.mark.parametrize(
    ("marker", "crc", "key"),
    (
        (EndTransaction(is_commit=True, coordinator_epoch=9), "5ce84ffe", "00000001"),
        (EndTransaction(is_commit=False, coordinator_epoch=9), "a8d699b6", "00000000"),
    ),
)
def test_marker_is_the_bytes_that_kafka_writes(marker: EndTransaction, crc: str, key: str) -> None:
    data = control_batch(marker, MARKER, timestamp=1000)

    assert data.hex() == (
        f"000000000000002b000000420000000002{crc}00300000000000000000000003e8"
        "00000000000003e800000000000000070001ffffffff00000001"
        f"2000000008{key}0c00000000000900"
    )
    assert [read_control(found) for found in RecordBatch(data).records()] == [marker]


def test_marker_is_in_a_transactional_control_batch() -> None:
    batch = RecordBatch(
        control_batch(EndTransaction(is_commit=True, coordinator_epoch=9), MARKER, timestamp=1000)
    )

    assert (batch.size, batch.base_sequence, batch.producer_id) == (78, -1, 7)
    assert batch.is_transactional
    assert batch.is_control


def test_marker_stays_uncompressed_when_its_log_is_not() -> None:
    fields = BatchFields(codec=Codec.ZSTD, producer_id=7, producer_epoch=1)
    marker = EndTransaction(is_commit=True, coordinator_epoch=9)

    batch = RecordBatch(control_batch(marker, fields, timestamp=1000))

    assert (batch.codec, batch.size) == (Codec.NONE, 78)


def test_marker_without_a_producer_is_rejected() -> None:
    with pytest.raises(InvalidRecordError, match="producer id"):
        control_batch(
            EndTransaction(is_commit=True, coordinator_epoch=9), BatchFields(), timestamp=1000
        )


@pytest.mark.parametrize(
    ("control", "kind", "value"),
    (
        (LEADER_CHANGE, 2, "0000 00000003 03 00000001 00 00000003 00 02 00000003 00 00"),
        (
            LeaderChange(3, (QuorumVoter(3, DIRECTORY),), (), 1),
            2,
            f"0001 00000003 02 00000003 {DIRECTORY.hex()} 00 01 00",
        ),
        (SnapshotHeader(1000), 3, "0000 00000000000003e8 00"),
        (SnapshotFooter(), 4, "0000 00"),
        (KRaftVersion(1), 5, "0000 0001 00"),
        (
            Voters((Voter(3, DIRECTORY, (Endpoint("C", "h", 65000),), 0, 1),)),
            6,
            f"0000 02 00000003 {DIRECTORY.hex()} 02 0243 0268 fde8 00 0000 0001 00 00 00",
        ),
    ),
)
def test_quorum_control_is_the_same_bytes_both_ways(
    control: Control, kind: int, value: str
) -> None:
    key = bytes((0, 0, 0, kind))

    assert control_value(control) == bytes.fromhex(value)
    assert read_control(record(key, bytes.fromhex(value))) == control


@pytest.mark.parametrize(
    "control", (LEADER_CHANGE, SnapshotHeader(5), SnapshotFooter(), KRaftVersion(1), Voters(()))
)
def test_quorum_control_record_is_in_a_batch_without_a_producer(control: Control) -> None:
    fields = BatchFields(partition_leader_epoch=4)

    batch = RecordBatch(control_batch(control, fields, timestamp=5))

    assert batch.attributes == 0x20
    assert [read_control(found) for found in batch.records()] == [control]


def test_quorum_voter_without_a_directory_gets_the_id_of_none() -> None:
    value = control_value(LeaderChange(1, (QuorumVoter(1),), (), version=1))

    found = read_control(record(control_key(ControlType.LEADER_CHANGE), value))

    assert found == LeaderChange(1, (QuorumVoter(1, bytes(16)),), (), 1)


def test_control_of_an_unknown_type_is_passed_over() -> None:
    assert control_type(bytes.fromhex("00000007")) is ControlType.UNKNOWN
    assert control_type(bytes.fromhex("0000ffff")) is ControlType.UNKNOWN
    assert read_control(record(bytes.fromhex("00000007"), b"x")) is None


def test_known_fields_of_a_higher_control_version_are_read() -> None:
    found = read_control(record(bytes.fromhex("0005 0001 ff"), bytes.fromhex("0005 00000009 ff")))

    assert found == EndTransaction(is_commit=True, coordinator_epoch=9)


@pytest.mark.parametrize(
    ("key", "problem"),
    ((None, "found null"), (b"\0\0\0", "found 3"), (b"\xff\xff\0\0", "version")),
)
def test_invalid_control_key_is_rejected(key: bytes | None, problem: str) -> None:
    with pytest.raises(InvalidRecordError, match=problem):
        control_type(key)


@pytest.mark.parametrize(
    ("kind", "value", "problem"),
    (
        (1, None, "marker that is too short"),
        (0, bytes(5), "marker that is too short"),
        (0, b"\xff\xff\0\0\0\0", "marker's version"),
        (2, bytes.fromhex("0000 00000003 7f"), "LEADER_CHANGE: a field beyond the end"),
        (6, bytes.fromhex("0000 00"), "KRAFT_VOTERS: a null"),
    ),
)
def test_invalid_control_value_is_rejected(kind: int, value: bytes | None, problem: str) -> None:
    with pytest.raises(InvalidRecordError, match=problem):
        read_control(record(bytes((0, 0, 0, kind)), value))


def test_control_value_rejects_an_epoch_of_more_than_32_bits() -> None:
    with pytest.raises(BytesError, match="signed number of 32 bits"):
        control_value(EndTransaction(is_commit=True, coordinator_epoch=1 << 31))


@pytest.mark.parametrize("is_commit", (True, False))
@pytest.mark.parametrize("epoch", (-1, 0, 1 << 30))
def test_plain_marker_is_read_as_its_record(epoch: int, *, is_commit: bool) -> None:
    marker = EndTransaction(is_commit, epoch)
    batch = control_batch(marker, MARKER, timestamp=1_000)

    assert read_plain_marker(batch) == marker
    assert read_control(next(RecordBatch(batch).records())) == marker


@pytest.mark.parametrize("control", (LEADER_CHANGE, SnapshotFooter(), KRaftVersion(1)))
def test_batch_of_another_form_is_not_a_plain_marker(control: Control) -> None:
    assert read_plain_marker(control_batch(control, MARKER, timestamp=0)) is None


def test_changed_marker_is_read_as_its_record_or_not_at_all() -> None:
    """A change of one byte never leads to another marker than the record has."""
    whole = control_batch(EndTransaction(is_commit=True, coordinator_epoch=9), MARKER, timestamp=0)
    for at in range(HEADER_SIZE, len(whole)):
        for bit in range(8):
            changed = bytearray(whole)
            changed[at] ^= 1 << bit
            found = read_plain_marker(changed)
            if found is not None:
                assert found == read_control(next(RecordBatch(changed).records())), (at, bit)
