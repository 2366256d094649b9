"""Tests of the handlers of ListOffsets, OffsetForLeaderEpoch and DeleteRecords."""

import pytest

from cordwood.broker.handlers.offsets import (
    delete_records,
    list_offsets,
    offset_for_leader_epoch,
)
from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.core.errors import FencedLeaderEpochError
from cordwood.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from cordwood.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from cordwood.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from cordwood.storage.log_config import COMPACT, DELETE, LogConfig
from cordwood.storage.manager import log_creation
from tests.unit.broker.broker_samples import BrokerHarness, meanwhile, run
from tests.unit.storage.log_samples import NOW, batch, follow, lead, produced, timed
from tests.unit.storage.manager_samples import HeldWorker, partition

NEWEST = 11
COMMITTED = 1


def dated(harness: BrokerHarness) -> BrokerHarness:
    """Append records with three timestamps; the latest is in the middle."""
    harness.host(3).append(memoryview(timed(NOW, NOW + 20, NOW + 10)))
    return harness


def list_request(
    *timestamps: int, replica_id: int = -1, isolation: int = 0, epoch: int = -1
) -> ListOffsetsRequest:
    """Return a request for each of the timestamps, in its own topic entry."""
    return ListOffsetsRequest(
        replica_id=replica_id,
        isolation_level=isolation,
        topics=[
            ListOffsetsTopic(
                name="orders",
                partitions=[
                    ListOffsetsPartition(
                        partition_index=0, timestamp=each, current_leader_epoch=epoch
                    )
                ],
            )
            for each in timestamps
        ],
    )


def found(
    harness: BrokerHarness, asked: ListOffsetsRequest, *, version: int = NEWEST
) -> list[tuple[int, int, int, int]]:
    response = run(list_offsets(harness.broker, harness.context(version), asked))
    return [
        (each.error_code, each.timestamp, each.offset, each.leader_epoch)
        for topic in response.topics
        for each in topic.partitions
    ]


def look_up(
    harness: BrokerHarness, timestamp: int, *, version: int = NEWEST
) -> tuple[int, int, int, int]:
    (only,) = found(harness, list_request(timestamp), version=version)
    return only


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    (
        (-1, (0, -1, 3, 3)),
        (-2, (0, -1, 0, 3)),
        (-3, (0, NOW + 20, 1, 3)),
        (-4, (0, -1, 0, 3)),
        (-5, (0, -1, -1, -1)),
        (-6, (0, -1, -1, -1)),
        (NOW + 5, (0, NOW + 20, 1, 3)),
        (NOW + 21, (0, -1, -1, -1)),
    ),
)
def test_quirk_11_times_and_places(timestamp: int, expected: tuple[int, ...]) -> None:
    assert look_up(dated(BrokerHarness()), timestamp) == expected


@pytest.mark.parametrize(("version", "error"), ((4, 5), (5, 78)))
def test_latest_offset_is_not_available_below_the_start_of_the_epoch(
    version: int, error: int
) -> None:
    """The high watermark is checkpointed late, so clients may have seen a higher one."""
    worker = HeldWorker()
    harness = BrokerHarness(LogConfig(flush_messages=1), worker=worker)
    recovered = log_creation.create(harness.manager, partition(), topic_id=None)
    lead(recovered, timed(NOW, NOW + 20), epoch=3)
    harness.host(4)

    before = look_up(harness, -1, version=version)[0], look_up(harness, -2, version=version)[0]
    while worker.held:
        worker.go_on()

    assert before == (error, 0)
    assert look_up(harness, -1, version=version) == (0, -1, 2, 4)


@pytest.mark.parametrize("timestamp", (-1, -2, -4))
def test_partition_that_was_never_written_has_the_epoch_of_its_leader(timestamp: int) -> None:
    """Kafka's leader begins its epoch at the log end, before the first record."""
    harness = BrokerHarness()
    harness.host(3)

    assert look_up(harness, timestamp) == (0, -1, 0, 3)


@pytest.mark.parametrize(("timestamp", "since"), ((-3, 7), (-4, 8), (-5, 9), (-6, 11)))
def test_quirk_11_special_timestamps_are_supported_from_their_first_version(
    timestamp: int, since: int
) -> None:
    harness = dated(BrokerHarness())

    codes = [look_up(harness, timestamp, version=each)[0] for each in (since - 1, since)]

    assert codes == [35, 0]


def test_unknown_special_timestamp_is_rejected() -> None:
    assert look_up(dated(BrokerHarness()), -7)[0] == 35


def test_leader_epoch_is_returned_from_version_4() -> None:
    harness = dated(BrokerHarness())

    assert [look_up(harness, -1, version=each)[3] for each in (3, 4)] == [-1, 3]


def test_end_is_the_last_stable_offset_for_read_committed_and_the_log_end_for_tools() -> None:
    harness = BrokerHarness()
    log = log_creation.create(harness.manager, partition(), topic_id=None)
    follow(log, batch(at=0), produced(0, at=1, is_transactional=True))
    harness.host()

    ends = [
        found(harness, list_request(-1, isolation=isolation, replica_id=replica_id))[0][2]
        for isolation, replica_id in ((0, -1), (COMMITTED, -1), (COMMITTED, -2))
    ]

    assert ends == [2, 1, 2]


def test_partition_requested_twice_is_rejected_both_times() -> None:
    assert [each[0] for each in found(dated(BrokerHarness()), list_request(-1, -2))] == [42, 42]


def test_missing_partition_and_stale_leader_epoch_are_rejected() -> None:
    assert look_up(BrokerHarness(), -1)[0] == 3
    assert found(dated(BrokerHarness()), list_request(-1, epoch=2))[0][0] == 74


def delete(harness: BrokerHarness, offset: int, *, topic: str = "orders") -> tuple[int, int]:
    partitions = [DeleteRecordsPartition(partition_index=0, offset=offset)]
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=topic, partitions=partitions)], timeout_ms=1
    )
    response = run(delete_records(harness.broker, harness.context(2), request))
    (result,) = response.topics[0].partitions
    return result.error_code, result.low_watermark


def test_records_before_an_offset_are_deleted() -> None:
    harness = dated(BrokerHarness(LogConfig(cleanup_policy=frozenset({DELETE, COMPACT}))))

    assert [delete(harness, offset) for offset in (2, 1, -1)] == [(0, 2), (0, 2), (0, 3)]
    assert look_up(harness, -2)[2] == 3


@pytest.mark.parametrize("offset", (-2, 4))
def test_delete_records_with_an_invalid_offset_is_rejected(offset: int) -> None:
    assert delete(dated(BrokerHarness()), offset) == (1, -1)


def test_records_of_a_compacted_topic_are_not_deleted() -> None:
    assert delete(dated(BrokerHarness(LogConfig(cleanup_policy=frozenset({COMPACT})))), 1) == (
        44,
        -1,
    )


def test_records_of_a_topic_without_a_cleanup_policy_are_deleted() -> None:
    harness = dated(BrokerHarness(LogConfig(cleanup_policy=frozenset())))

    assert delete(harness, 2) == (0, 2)


def test_records_of_internal_and_of_unknown_topics_are_not_deleted() -> None:
    assert delete(BrokerHarness(), 0, topic="__consumer_offsets") == (17, -1)
    assert delete(BrokerHarness(), 0) == (3, -1)


def end_of(harness: BrokerHarness, epoch: int, *, current: int = -1) -> tuple[int, int, int]:
    partitions = [
        OffsetForLeaderPartition(partition=0, current_leader_epoch=current, leader_epoch=epoch)
    ]
    request = OffsetForLeaderEpochRequest(
        topics=[OffsetForLeaderTopic(topic="orders", partitions=partitions)]
    )
    response = run(offset_for_leader_epoch(harness.broker, harness.context(4), request))
    (result,) = response.topics[0].partitions
    return result.error_code, result.leader_epoch, result.end_offset


@pytest.mark.parametrize(
    ("epoch", "expected"),
    ((1, (0, 1, 2)), (2, (0, 1, 2)), (3, (0, 3, 3)), (5, (0, 5, 3)), (6, (0, -1, -1))),
)
def test_epoch_ends_where_a_later_one_begins(epoch: int, expected: tuple[int, ...]) -> None:
    harness = BrokerHarness()
    log = log_creation.create(harness.manager, partition(), topic_id=None)
    lead(log, batch(2), epoch=1)
    lead(log, batch(), epoch=3)
    harness.host(5)

    assert end_of(harness, epoch) == expected


@pytest.mark.parametrize(("current", "code"), ((3, 0), (2, 74), (4, 75)))
def test_current_leader_epoch_of_the_request_must_match(current: int, code: int) -> None:
    assert end_of(dated(BrokerHarness()), 3, current=current)[0] == code


def test_epochs_of_missing_partitions_are_unknown() -> None:
    assert end_of(BrokerHarness(), 0) == (3, -1, -1)


@pytest.mark.parametrize("timestamp", (NOW + 5, -3))
def test_list_offsets_reads_records_on_the_worker(timestamp: int) -> None:
    worker = HeldWorker()
    harness = dated(BrokerHarness(worker=worker))
    worker.go_on()

    over, response = run(
        meanwhile(
            list_offsets(harness.broker, harness.context(NEWEST), list_request(timestamp)),
            worker.go_on,
        )
    )

    assert over == [False]
    assert response.topics[0].partitions[0].offset == 1


@pytest.mark.parametrize(
    ("state", "code"),
    ((PartitionImage((1, 2), (1, 2), 2, 4), 6), (PartitionImage((1,), (1,), 1, 4), 74)),
)
def test_list_offsets_is_fenced_when_the_leadership_ends_meanwhile(
    state: PartitionImage, code: int
) -> None:
    worker = HeldWorker()
    harness = dated(BrokerHarness(worker=worker))
    worker.go_on()
    asked = list_request(NOW, epoch=3 if code == FencedLeaderEpochError.code else -1)

    def change() -> None:
        harness.broker.partitions.get("orders", 0).apply(state)
        worker.go_on()

    _, response = run(
        meanwhile(list_offsets(harness.broker, harness.context(NEWEST), asked), change)
    )

    assert response.topics[0].partitions[0].error_code == code


def test_list_offsets_starts_no_lookup_on_a_connection_that_stops() -> None:
    harness = dated(BrokerHarness())
    harness.connection.stopping.fire()

    assert [look_up(harness, timestamp)[0] for timestamp in (-1, NOW, -3)] == [0, 6, 6]
