"""Control batches equal Kafka's byte for byte, and decode to the same records."""

from typing import Final

import pytest

from cordwood.records.batch_builder import BatchFields
from cordwood.records.control_records import (
    NO_DIRECTORY,
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
    control_value,
    read_control,
)
from cordwood.records.record_batch import RecordBatch
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.samples import NOON, marker
from tests.interop.kafka_harness.spec import Json, text

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

DIRECTORY: Final = bytes(range(16))
QUORUM: Final[dict[str, tuple[Control, dict[str, Json]]]] = {
    "SNAPSHOT_HEADER": (SnapshotHeader(NOON), {"last_contained_log_timestamp": NOON}),
    "SNAPSHOT_FOOTER": (SnapshotFooter(), {}),
    "KRAFT_VERSION": (KRaftVersion(1), {"kraft_version": 1}),
    "KRAFT_VOTERS": (
        Voters((Voter(3, DIRECTORY, (Endpoint("CONTROLLER", "localhost", 65_000),), 0, 1),)),
        {
            "voter_id": 3,
            "directory_id": text(DIRECTORY),
            "name": "CONTROLLER",
            "host": "localhost",
            "port": 65_000,
        },
    ),
}
CHANGE: Final[dict[str, Json]] = {
    "leader_id": 2,
    "voters": [1, 2, 300],
    "granting_voters": [2, 300],
    "base_offset": 5,
    "timestamp": NOON,
    "partition_leader_epoch": 4,
}


def _leader_change(version: int) -> LeaderChange:
    directory = NO_DIRECTORY if version else None
    voters = tuple(QuorumVoter(voter_id, directory) for voter_id in (1, 2, 300))
    return LeaderChange(2, voters, voters[1:], version)


def _said(data: bytes) -> list[Control | None]:
    return [read_control(record) for record in RecordBatch(data).records()]


@pytest.mark.parametrize("kind", ("COMMIT", "ABORT"))
def test_transaction_marker_equals_that_of_kafka(kafka43: Oracle, kind: str) -> None:
    control = EndTransaction(is_commit=kind == "COMMIT", coordinator_epoch=9)
    fields = BatchFields(base_offset=43, partition_leader_epoch=3, producer_id=7, producer_epoch=1)

    theirs = kafka43.ask_bytes("marker", marker(kind))

    assert control_batch(control, fields, timestamp=NOON).hex() == theirs.hex()
    assert _said(theirs) == [control]


def test_leader_change_equals_that_of_kafka(kafka43: Oracle) -> None:
    fields = BatchFields(base_offset=5, partition_leader_epoch=4)

    theirs = kafka43.ask_bytes("leader_change", {"version": 0, **CHANGE})

    control = _leader_change(version=0)
    assert control_batch(control, fields, timestamp=NOON).hex() == theirs.hex()
    assert _said(theirs) == [control]


@pytest.mark.parametrize("version", (0, 1))
def test_leader_change_value_equals_that_of_kafka_in_each_version(
    kafka43: Oracle, version: int
) -> None:
    theirs = kafka43.ask_bytes("leader_change_value", {"version": version, **CHANGE})

    assert control_value(_leader_change(version)).hex() == theirs.hex()


@pytest.mark.parametrize("kind", QUORUM)
def test_quorum_record_equals_that_of_kafka(kafka43: Oracle, kind: str) -> None:
    control, said = QUORUM[kind]
    place: dict[str, Json] = {"base_offset": 5, "timestamp": NOON, "partition_leader_epoch": 4}

    theirs = kafka43.ask_bytes("quorum", {"type": kind, **place, **said})

    fields = BatchFields(base_offset=5, partition_leader_epoch=4)
    assert control_batch(control, fields, timestamp=NOON).hex() == theirs.hex()
    assert _said(theirs) == [control]
