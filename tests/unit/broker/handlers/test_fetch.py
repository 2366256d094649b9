"""Fetch hands batches out as they lie in the log, by name and by id, in sessions and without."""

import pytest

from cordwood.broker.dispatch import ROUTES
from cordwood.broker.handlers.fetch import fetch, refused
from cordwood.core.errors import FetchSessionIdNotFoundError, InvalidFetchSessionEpochError
from cordwood.core.ids import NO_UUID, Uuid
from cordwood.protocol.apis import APIS
from cordwood.protocol.codec import encode
from cordwood.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from cordwood.storage.log_config import LogConfig
from cordwood.testing.files import MemorySlice
from tests.unit.broker.broker_samples import Hall, meanwhile, run
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
COMMITTED = 1


def request(
    *offsets: int,
    topic: str = "orders",
    topic_id: Uuid = ORDERS_ID,
    max_bytes: int = 1 << 20,
    max_wait_ms: int = 0,
    isolation: int = 0,
    session: tuple[int, int] = (0, -1),
) -> FetchRequest:
    """Return a request for partitions of a topic, each from an offset on."""
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


def ask(hall: Hall, asked: FetchRequest, *, version: int = NAMES) -> FetchResponse:
    return run(fetch(hall.broker, hall.context(version), asked))


def partitions(response: FetchResponse) -> list[PartitionData]:
    return [each for topic in response.responses for each in topic.partitions]


def records(data: PartitionData) -> bytes:
    assert data.records is not None
    return bytes(data.records.read() if isinstance(data.records, MemorySlice) else data.records)  # type: ignore[arg-type]  # nothing else is handed out


def batches(data: PartitionData) -> list[tuple[int, int]]:
    return [(each.base_offset, each.last_offset) for each in headers_of(records(data))]


def filled(hall: Hall, *sets: bytes | bytearray) -> Hall:
    orders = hall.host()
    for each in sets:
        orders.append(memoryview(bytearray(each)))
    return hall


def test_records_are_handed_out_with_the_bounds_of_the_log() -> None:
    hall = filled(Hall(), batch(2), batch(3))
    hall.broker.partitions.get("orders", 0).delete_records(1)

    (data,) = partitions(ask(hall, request(2)))

    assert (data.error_code, data.high_watermark, data.log_start_offset) == (0, 5, 1)
    assert (data.last_stable_offset, data.aborted_transactions) == (5, None)
    assert batches(data) == [(2, 4)]


def test_records_are_a_range_of_the_file_that_goes_into_the_message_untouched() -> None:
    hall = filled(Hall(), batch())

    response = ask(hall, request(0))

    (data,) = partitions(response)
    assert any(chunk is data.records for chunk in encode(response, NAMES))


def test_quirk_18_batch_is_handed_out_whole_for_any_of_its_offsets() -> None:
    hall = filled(Hall(), batch(3), batch(2))

    found = [batches(partitions(ask(hall, request(offset)))[0]) for offset in (1, 2, 3, 4)]

    assert found == [[(0, 2), (3, 4)], [(0, 2), (3, 4)], [(3, 4)], [(3, 4)]]


def test_batches_of_old_formats_are_handed_out_as_they_are() -> None:
    hall = Hall()
    message = old(1, offsets=(0, 1, 2))
    follow(hall.manager.create(partition(), topic_id=None), message)
    hall.host()

    (data,) = partitions(ask(hall, request(0), version=4))

    assert records(data) == message


def test_quirk_06_topics_come_by_name_until_version_12_and_by_id_from_then_on() -> None:
    hall = filled(Hall(), batch())

    by_name = ask(hall, request(0, topic_id=NO_UUID)).responses[0]
    by_id = ask(hall, request(0, topic=""), version=IDS).responses[0]
    stale = ask(hall, request(0, topic="", topic_id=Uuid(b"x" * 16)), version=IDS).responses[0]

    assert (by_name.topic, by_name.topic_id) == ("orders", NO_UUID)
    assert (by_id.topic, by_id.topic_id) == ("", ORDERS_ID)
    assert [each.partitions[0].error_code for each in (by_name, by_id, stale)] == [0, 0, 100]


@pytest.mark.parametrize(("topic", "offset", "code"), (("others", 0, 3), ("orders", 2, 1)))
def test_partition_that_cannot_be_read_says_why(topic: str, offset: int, code: int) -> None:
    hall = filled(Hall(), batch())

    (data,) = partitions(ask(hall, request(offset, topic=topic)))

    assert (data.error_code, data.high_watermark, data.log_start_offset) == (code, -1, -1)
    assert (data.last_stable_offset, records(data)) == (-1, b"")


def test_quirk_12_aborted_transactions_come_in_the_order_in_which_they_began() -> None:
    hall = Hall()
    log = hall.manager.create(partition(), topic_id=None)
    follow(log, *interleaved())
    hall.host()

    (data,) = partitions(ask(hall, request(0, isolation=COMMITTED)))

    assert data.aborted_transactions is not None
    found = [(each.producer_id, each.first_offset) for each in data.aborted_transactions]
    assert found == [(1, 0), (2, 8)]


def test_quirk_12_transaction_that_began_first_and_was_aborted_last_is_first() -> None:
    hall = Hall()
    log = hall.manager.create(partition(), topic_id=None)
    follow(
        log,
        produced(0, producer=(1, 0), at=0, is_transactional=True),
        produced(0, producer=(2, 0), at=1, is_transactional=True),
        marker(producer=(2, 0), at=2),
        marker(producer=(1, 0), at=3),
    )
    hall.host()

    (data,) = partitions(ask(hall, request(0, isolation=COMMITTED)))

    assert data.aborted_transactions is not None
    assert [each.producer_id for each in data.aborted_transactions] == [1, 2]


def test_read_committed_stops_where_a_transaction_is_open() -> None:
    hall = Hall()
    log = hall.manager.create(partition(), topic_id=None)
    follow(log, batch(at=0), produced(0, at=1, is_transactional=True))
    hall.host()

    (committed,) = partitions(ask(hall, request(0, isolation=COMMITTED)))
    (everything,) = partitions(ask(hall, request(0)))

    assert (batches(committed), committed.last_stable_offset) == ([(0, 0)], 1)
    assert batches(everything) == [(0, 0), (1, 1)]


def test_quirk_17_first_batch_is_handed_out_even_if_it_is_larger_than_everything_asked_for() -> (
    None
):
    hall = filled(Hall(), batch(10), batch())

    (data,) = partitions(ask(hall, request(0, max_bytes=1)))

    assert batches(data) == [(0, 9)]


def test_broker_has_a_limit_of_its_own() -> None:
    value = b"v" * 600
    hall = filled(Hall(given={"fetch.max.bytes": "1024"}), *[batch(value=value)] * 2)

    (data,) = partitions(ask(hall, request(0)))

    assert [size for size, _ in batches(data)] == [0]


def test_fetch_waits_for_records() -> None:
    hall = filled(Hall())
    orders = hall.broker.partitions.get("orders", 0)
    asked = fetch(hall.broker, hall.context(NAMES), request(0, max_wait_ms=500))

    over, response = run(meanwhile(asked, lambda: orders.append(memoryview(batch()))))

    assert (over, batches(partitions(response)[0])) == ([False], [(0, 0)])


def test_quirk_17_session_is_answered_with_what_is_new() -> None:
    hall = Hall()
    hall.host(0, 0)
    first = ask(hall, request(0, 0, session=(0, 0)))
    hall.broker.partitions.get("orders", 1).append(memoryview(batch()))

    second = ask(hall, request(session=(first.session_id, 1)))
    third = ask(hall, request(0, 1, session=(first.session_id, 2)))

    assert [each.partition_index for each in partitions(first)] == [0, 1]
    assert [each.partition_index for each in partitions(second)] == [1]
    assert (third.session_id, partitions(third)) == (first.session_id, [])


def test_session_that_is_not_known_is_refused_at_the_top() -> None:
    hall = Hall()
    asked = request(session=(7, 1))

    with pytest.raises(FetchSessionIdNotFoundError) as raised:
        ask(hall, asked)

    answer = refused(asked, raised.value, version=NAMES)
    assert (answer.error_code, answer.session_id, answer.responses) == (70, 0, [])


def test_answer_that_has_been_overtaken_is_dropped_and_its_records_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hall, released = Hall(), list[int]()
    orders = hall.host()
    session_id = ask(hall, request(0, session=(0, 0))).session_id
    asked = fetch(
        hall.broker, hall.context(NAMES), request(session=(session_id, 1), max_wait_ms=500)
    )
    monkeypatch.setattr(MemorySlice, "release", lambda each: released.append(each.length))

    def overtake() -> None:
        hall.broker.sessions.begin(request(session=(session_id, 2)), NAMES, now_ms=0)
        orders.append(memoryview(batch()))

    with pytest.RaisesGroup(InvalidFetchSessionEpochError):
        run(meanwhile(asked, overtake))
    assert released == [len(batch())]


@pytest.mark.parametrize(("version", "code"), ((9, 76), (10, 0)))
def test_topic_of_zstd_is_refused_below_version_10(version: int, code: int) -> None:
    hall = filled(Hall(LogConfig(compression_type="zstd")), batch())

    assert partitions(ask(hall, request(0), version=version))[0].error_code == code


def test_quirk_24_answers_name_no_other_leader_since_there_is_none() -> None:
    hall = Hall()
    hall.host(3)
    asked = request(0)
    asked.topics[0].partitions[0].current_leader_epoch = 2

    response = ask(hall, asked, version=IDS)

    (data,) = partitions(response)
    assert (data.error_code, data.current_leader, response.node_endpoints) == (74, None, [])


def test_reader_whose_log_has_diverged_is_told_where() -> None:
    hall = Hall()
    lead(hall.manager.create(partition(), topic_id=None), batch(2), epoch=1)
    hall.host(2)
    asked = request(5)
    asked.topics[0].partitions[0].last_fetched_epoch = 1

    (data,) = partitions(ask(hall, asked))

    assert data.diverging_epoch is not None
    assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == (1, 2)
    assert (data.error_code, records(data)) == (0, b"")


@pytest.mark.parametrize(
    ("key", "versions"), ((0, (3, 7)), (1, (4, 10)), (2, (1,)), (22, (0,)), (18, (0, 3)))
)
def test_quirk_02_versions_that_old_clients_look_for_one_by_one_are_advertised(
    key: int, versions: tuple[int, ...]
) -> None:
    assert key in ROUTES
    assert all(APIS[key].first <= each <= APIS[key].last for each in versions)


def test_quirk_02_fetch_is_served_from_version_4_on() -> None:
    hall = filled(Hall(), batch())

    assert FetchRequest.__schema__.versions == (4, 18)
    assert batches(partitions(ask(hall, request(0), version=4))[0]) == [(0, 0)]
