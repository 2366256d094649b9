"""Tests of the Fetch handler."""

from dataclasses import replace

import pytest

from cordwood.broker.dispatch import ROUTES
from cordwood.broker.handlers.fetch import error_response, fetch
from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.partitions.fetch_sessions import RequestedPartitions
from cordwood.broker.partitions.fetched_records import FetchedRecords
from cordwood.broker.partitions.idle_reader import IdleReader
from cordwood.broker.partitions.partition import Partition
from cordwood.core.errors import (
    FetchSessionIdNotFoundError,
    InvalidFetchSessionEpochError,
    NotLeaderOrFollowerError,
)
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.apis import APIS
from cordwood.protocol.codec import encode
from cordwood.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from cordwood.storage.log.log_read import FetchIsolation, LogRead
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import log_creation
from cordwood.testing.memory_files import MemorySlice
from tests.unit.broker.broker_samples import BrokerHarness, led_topic, meanwhile, run
from tests.unit.broker.image_samples import cluster
from tests.unit.storage.log_samples import (
    batch,
    follow,
    headers_of,
    interleaved,
    lead,
    marker,
    produced,
)
from tests.unit.storage.manager_samples import ORDERS_ID, partition
from tests.unit.storage.produced import old

NAMES, IDS = 12, 13
FIRST_WITH_REPLICA_STATE = 15
FIRST_WITH_LEADERS = 16
COMMITTED = 1
LED_BY_2 = PartitionImage((1, 2), (1, 2), 2, 5)


def request(
    *offsets: int,
    topic: str = "orders",
    topic_id: Uuid = ORDERS_ID,
    max_bytes: int = 1 << 20,
    max_wait_ms: int = 0,
    isolation: int = 0,
    session: tuple[int, int] = (0, -1),
) -> FetchRequest:
    """Return a request for partitions of a topic, each with a fetch offset."""
    partitions = [
        FetchPartition(partition=index, fetch_offset=each, partition_max_bytes=1 << 20)
        for index, each in enumerate(offsets)
    ]
    topics = [FetchTopic(topic=topic, topic_id=topic_id, partitions=partitions)]
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        isolation_level=isolation,
        session_id=session[0],
        session_epoch=session[1],
        topics=topics if offsets else [],
    )


def ask(harness: BrokerHarness, asked: FetchRequest, *, version: int = NAMES) -> FetchResponse:
    return run(fetch(harness.broker, harness.context(version), asked))


def partitions(response: FetchResponse) -> list[PartitionData]:
    return [each for topic in response.responses for each in topic.partitions]


def records(data: PartitionData) -> bytes:
    assert data.records is not None
    return bytes(data.records.read() if isinstance(data.records, FetchedRecords) else data.records)  # type: ignore[arg-type]  # nothing else is handed out


def batches(data: PartitionData) -> list[tuple[int, int]]:
    return [(each.base_offset, each.last_offset) for each in headers_of(records(data))]


def filled(harness: BrokerHarness, *sets: bytes | bytearray) -> BrokerHarness:
    orders = harness.host()
    for each in sets:
        orders.append(memoryview(bytearray(each)))
    return harness


def test_records_are_handed_out_with_the_bounds_of_the_log() -> None:
    harness = filled(BrokerHarness(), batch(2), batch(3))
    harness.broker.partitions.get("orders", 0).delete_records(1)

    (data,) = partitions(ask(harness, request(2)))

    assert (data.error_code, data.high_watermark, data.log_start_offset) == (0, 5, 1)
    assert (data.last_stable_offset, data.aborted_transactions) == (5, None)
    assert batches(data) == [(2, 4)]


def test_records_are_a_file_range_in_the_message() -> None:
    harness = filled(BrokerHarness(), batch())

    response = ask(harness, request(0))

    (data,) = partitions(response)
    assert any(chunk is data.records for chunk in encode(response, NAMES))


def test_quirk_18_batch_is_handed_out_whole_for_any_of_its_offsets() -> None:
    harness = filled(BrokerHarness(), batch(3), batch(2))

    found = [batches(partitions(ask(harness, request(offset)))[0]) for offset in (1, 2, 3, 4)]

    assert found == [[(0, 2), (3, 4)], [(0, 2), (3, 4)], [(3, 4)], [(3, 4)]]


def test_batches_of_old_formats_are_returned_unchanged() -> None:
    harness = BrokerHarness()
    message = old(1, offsets=(0, 1, 2))
    follow(log_creation.create(harness.manager, partition(), topic_id=None), message)
    harness.host()

    (data,) = partitions(ask(harness, request(0), version=4))

    assert records(data) == message


def test_quirk_06_topics_have_names_until_version_12_and_ids_from_version_13() -> None:
    harness = filled(BrokerHarness(), batch())

    by_name = ask(harness, request(0, topic_id=NO_UUID)).responses[0]
    by_id = ask(harness, request(0, topic=""), version=IDS).responses[0]
    stale = ask(harness, request(0, topic="", topic_id=Uuid(b"x" * 16)), version=IDS).responses[0]

    assert (by_name.topic, by_name.topic_id) == ("orders", NO_UUID)
    assert (by_id.topic, by_id.topic_id) == ("", ORDERS_ID)
    assert [each.partitions[0].error_code for each in (by_name, by_id, stale)] == [0, 0, 100]


@pytest.mark.parametrize(("topic", "offset", "code"), (("others", 0, 3), ("orders", 2, 1)))
def test_unreadable_partition_has_an_error(topic: str, offset: int, code: int) -> None:
    harness = filled(BrokerHarness(), batch())

    (data,) = partitions(ask(harness, request(offset, topic=topic)))

    assert (data.error_code, data.high_watermark, data.log_start_offset) == (code, -1, -1)
    assert (data.last_stable_offset, records(data)) == (-1, b"")


def test_quirk_12_aborted_transactions_are_sorted_by_first_offset() -> None:
    harness = BrokerHarness()
    log = log_creation.create(harness.manager, partition(), topic_id=None)
    follow(log, *interleaved())
    harness.host()

    (data,) = partitions(ask(harness, request(0, isolation=COMMITTED)))

    assert data.aborted_transactions is not None
    found = [(each.producer_id, each.first_offset) for each in data.aborted_transactions]
    assert found == [(1, 0), (2, 8)]


def test_quirk_12_transaction_that_began_first_and_was_aborted_last_is_first() -> None:
    harness = BrokerHarness()
    log = log_creation.create(harness.manager, partition(), topic_id=None)
    follow(
        log,
        produced(0, producer=(1, 0), at=0, is_transactional=True),
        produced(0, producer=(2, 0), at=1, is_transactional=True),
        marker(producer=(2, 0), at=2),
        marker(producer=(1, 0), at=3),
    )
    harness.host()

    (data,) = partitions(ask(harness, request(0, isolation=COMMITTED)))

    assert data.aborted_transactions is not None
    assert [each.producer_id for each in data.aborted_transactions] == [1, 2]


def test_read_committed_stops_where_a_transaction_is_open() -> None:
    harness = BrokerHarness()
    log = log_creation.create(harness.manager, partition(), topic_id=None)
    follow(log, batch(at=0), produced(0, at=1, is_transactional=True))
    harness.host()

    (committed,) = partitions(ask(harness, request(0, isolation=COMMITTED)))
    (everything,) = partitions(ask(harness, request(0)))

    assert (batches(committed), committed.last_stable_offset) == ([(0, 0)], 1)
    assert batches(everything) == [(0, 0), (1, 1)]


def test_quirk_17_first_batch_is_returned_even_above_the_byte_limit() -> None:
    harness = filled(BrokerHarness(), batch(10), batch())

    (data,) = partitions(ask(harness, request(0, max_bytes=1)))

    assert batches(data) == [(0, 9)]


def test_fetch_max_bytes_of_the_broker_limits_the_response() -> None:
    value = b"v" * 600
    harness = filled(BrokerHarness(given={"fetch.max.bytes": "1024"}), *[batch(value=value)] * 2)

    (data,) = partitions(ask(harness, request(0)))

    assert [size for size, _ in batches(data)] == [0]


def test_fetch_waits_for_records() -> None:
    harness = filled(BrokerHarness())
    orders = harness.broker.partitions.get("orders", 0)
    asked = fetch(harness.broker, harness.context(NAMES), request(0, max_wait_ms=500))

    over, response = run(meanwhile(asked, lambda: orders.append(memoryview(batch()))))

    assert (over, batches(partitions(response)[0])) == ([False], [(0, 0)])


def test_quirk_17_session_response_has_only_changed_partitions() -> None:
    harness = BrokerHarness()
    harness.host(0, 0)
    first = ask(harness, request(0, 0, session=(0, 0)))
    harness.broker.partitions.get("orders", 1).append(memoryview(batch()))

    second = ask(harness, request(session=(first.session_id, 1)))
    third = ask(harness, request(0, 1, session=(first.session_id, 2)))

    assert [each.partition_index for each in partitions(first)] == [0, 1]
    assert [each.partition_index for each in partitions(second)] == [1]
    assert (third.session_id, partitions(third)) == (first.session_id, [])


def idle_session(harness: BrokerHarness, *, partitions: int = 3) -> int:
    """Return a session of empty partitions, each of which was read twice."""
    harness.host(*[0] * partitions)
    session_id = ask(harness, request(*[0] * partitions, session=(0, 0))).session_id
    ask(harness, request(session=(session_id, 1)))
    return session_id


def counted_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the indexes of the partitions that are read from here on."""
    reads, original = list[int](), Partition.read

    def counted(
        self: Partition,
        offset: int,
        *,
        max_bytes: int,
        isolation: FetchIsolation,
        min_one: bool = False,
        needs_leader: bool = True,
    ) -> LogRead:
        reads.append(self.name.partition)
        return original(
            self,
            offset,
            max_bytes=max_bytes,
            isolation=isolation,
            min_one=min_one,
            needs_leader=needs_leader,
        )

    monkeypatch.setattr(Partition, "read", counted)
    return reads


def test_idle_poll_of_a_session_reads_only_partitions_that_have_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """200 idle sessions of 100 partitions read 40,000 of them a second, for half a core."""
    harness = BrokerHarness()
    session_id = idle_session(harness)
    reads = counted_reads(monkeypatch)

    idle = ask(harness, request(session=(session_id, 2)))
    harness.broker.partitions.get("orders", 1).append(memoryview(batch()))
    changed = ask(harness, request(session=(session_id, 3)))

    assert (partitions(idle), reads) == ([], [1])
    assert [each.partition_index for each in partitions(changed)] == [1]


def test_idle_partition_that_changes_ends_the_wait_of_its_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness = BrokerHarness()
    session_id = idle_session(harness)
    reads = counted_reads(monkeypatch)
    asked = request(session=(session_id, 2), max_wait_ms=500)
    orders = harness.broker.partitions.get("orders", 2)

    over, response = run(
        meanwhile(
            fetch(harness.broker, harness.context(NAMES), asked),
            lambda: orders.append(memoryview(batch())),
        )
    )

    assert (over, reads) == ([False], [2])
    assert [batches(each) for each in partitions(response)] == [[(0, 0)]]


@pytest.mark.parametrize(("version", "replica"), ((9, -1), (NAMES, 2)))
def test_old_versions_and_followers_read_every_partition_of_a_session(
    monkeypatch: pytest.MonkeyPatch, version: int, replica: int
) -> None:
    harness = BrokerHarness()
    session_id = idle_session(harness)
    reads = counted_reads(monkeypatch)
    asked = request(session=(session_id, 2))
    asked.replica_id = replica
    for index in range(3):
        harness.broker.partitions.get("orders", index).apply(PartitionImage((1, 2), (1,), 1, 0))

    ask(harness, asked, version=version)

    assert reads == [0, 1, 2]


def test_ended_session_leaves_no_waiting_fetch() -> None:
    harness = BrokerHarness()
    session_id = idle_session(harness)
    (session,) = harness.broker.sessions._sessions.values()  # noqa: SLF001 - no view of them
    readers = [each.reader for each in session.partitions.values()]
    assert [isinstance(each, IdleReader) and each.is_waiting for each in readers] == [True] * 3

    ask(harness, request(0, session=(session_id, -1)))

    assert [isinstance(each, IdleReader) and each.is_waiting for each in readers] == [False] * 3


def test_unknown_session_is_rejected_at_the_top_level() -> None:
    harness = BrokerHarness()
    asked = request(session=(7, 1))

    with pytest.raises(FetchSessionIdNotFoundError) as raised:
        ask(harness, asked)

    answer = error_response(asked, raised.value, version=NAMES)
    assert (answer.error_code, answer.session_id, answer.responses) == (70, 0, [])


def test_answer_that_has_been_overtaken_is_dropped_and_its_records_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    harness, released = BrokerHarness(), list[int]()
    orders = harness.host()
    session_id = ask(harness, request(0, session=(0, 0))).session_id
    asked = fetch(
        harness.broker, harness.context(NAMES), request(session=(session_id, 1), max_wait_ms=500)
    )
    monkeypatch.setattr(MemorySlice, "release", lambda each: released.append(each.length))

    def overtake() -> None:
        harness.broker.sessions.new_context(
            request(session=(session_id, 2)), RequestedPartitions({}, []), version=NAMES, now_ms=0
        )
        orders.append(memoryview(batch()))

    with pytest.RaisesGroup(InvalidFetchSessionEpochError):
        run(meanwhile(asked, overtake))
    assert released == [len(batch())]


@pytest.mark.parametrize(("version", "code"), ((9, 76), (10, 0)))
def test_topic_with_zstd_is_rejected_below_version_10(version: int, code: int) -> None:
    harness = filled(BrokerHarness(LogConfig(compression_type="zstd")), batch())

    assert partitions(ask(harness, request(0), version=version))[0].error_code == code


@pytest.mark.parametrize(
    ("version", "leader", "nodes"), ((IDS, None, []), (FIRST_WITH_LEADERS, (1, 3), [1]))
)
def test_quirk_24_fenced_reader_receives_the_leader_epoch_from_version_16_on(
    version: int, leader: tuple[int, int] | None, nodes: list[int]
) -> None:
    harness = BrokerHarness()
    harness.host(3)
    asked = request(0)
    asked.topics[0].partitions[0].current_leader_epoch = 2

    response = ask(harness, asked, version=version)

    (data,) = partitions(response)
    assert (data.error_code, leader_in(data)) == (74, leader)
    assert [each.node_id for each in response.node_endpoints] == nodes


def test_reader_of_an_offline_replica_receives_the_leader_and_its_endpoint() -> None:
    harness = BrokerHarness()
    orders = harness.host()
    orders.apply(PartitionImage((1, 2), (1, 2), 2, 5))
    image = cluster(brokers=2).with_topic(replace(led_topic(5), partitions=(LED_BY_2,)))
    harness.metadata.publish(image)
    orders.go_offline(NotLeaderOrFollowerError("no role"))

    response = ask(harness, request(0), version=FIRST_WITH_LEADERS)

    (data,) = partitions(response)
    assert (data.error_code, leader_in(data)) == (6, (2, 5))
    assert [(each.node_id, each.port) for each in response.node_endpoints] == [(2, 9092)]


def leader_in(data: PartitionData) -> tuple[int, int] | None:
    leader = data.current_leader
    return None if leader is None else (leader.leader_id, leader.leader_epoch)


def test_divergence_of_a_fetcher_s_log_is_returned() -> None:
    harness = BrokerHarness()
    lead(log_creation.create(harness.manager, partition(), topic_id=None), batch(2), epoch=1)
    harness.host(2)
    asked = request(5)
    asked.topics[0].partitions[0].last_fetched_epoch = 1

    (data,) = partitions(ask(harness, asked))

    assert data.diverging_epoch is not None
    assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == (1, 2)
    assert (data.error_code, records(data)) == (0, b"")


@pytest.mark.parametrize(
    ("key", "versions"), ((0, (3, 7)), (1, (4, 10)), (2, (1,)), (22, (0,)), (18, (0, 3)))
)
def test_quirk_02_versions_checked_by_old_clients_are_advertised(
    key: int, versions: tuple[int, ...]
) -> None:
    assert key in ROUTES
    assert all(APIS[key].first <= each <= APIS[key].last for each in versions)


def test_quirk_02_fetch_is_served_from_version_4_on() -> None:
    harness = filled(BrokerHarness(), batch())

    assert FetchRequest.__schema__.versions == (4, 18)
    assert batches(partitions(ask(harness, request(0), version=4))[0]) == [(0, 0)]
