"""Tests of the Produce handler."""

import asyncio
import errno
import gc
import weakref
from contextlib import suppress

import pytest

from cordwood.broker.dispatch import ROUTES
from cordwood.broker.handlers.produce import begin_produce, produce
from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.network.pending_response import PendingResponse
from cordwood.core.errors import InvalidRecordError, KafkaError, UnknownTopicOrPartitionError
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.apis import APIS
from cordwood.protocol.codec import decode, encode
from cordwood.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from cordwood.records.compression import Codec
from cordwood.records.record import TimestampType
from cordwood.storage.log_config import COMPACT, LogConfig
from cordwood.storage.validation.validation_cost import PLAIN
from cordwood.testing.file_faults import FileFault
from tests.unit.broker.broker_samples import BrokerHarness, meanwhile, run
from tests.unit.broker.image_samples import cluster
from tests.unit.storage.log_samples import NOW, batch, produced
from tests.unit.storage.manager_samples import ORDERS_ID, HeldWorker
from tests.unit.storage.produced import old, v2

FLUSHING = LogConfig(flush_messages=1)


def request(
    *sets: bytes | bytearray | memoryview | None,
    acks: int = -1,
    topic: str = "orders",
    topic_id: Uuid = NO_UUID,
) -> ProduceRequest:
    """Return a request with a record set for each partition of a topic."""
    return ProduceRequest(
        acks=acks,
        timeout_ms=1000,
        topics=[
            TopicProduceData(
                name=topic,
                topic_id=topic_id,
                partitions=[
                    PartitionProduceData(index=index, records=as_view(each))
                    for index, each in enumerate(sets)
                ],
            )
        ],
    )


def as_view(data: bytes | bytearray | memoryview | None) -> memoryview | None:
    if data is None or isinstance(data, memoryview):
        return data
    return memoryview(bytearray(data))


def answers(response: ProduceResponse | None) -> list[PartitionProduceResponse]:
    assert response is not None
    return [each for topic in response.responses for each in topic.partitions]


def ask(
    harness: BrokerHarness, asked: ProduceRequest, *, version: int = 9, client_id: str = "client"
) -> list[PartitionProduceResponse]:
    context = harness.context(version, client_id=client_id)
    return answers(run(produce(harness.broker, context, asked)))


def rejected(
    data: bytes | bytearray | None, *, version: int = 9, config: LogConfig | None = None
) -> PartitionProduceResponse:
    """Return the response for a record set that is rejected."""
    harness = BrokerHarness(config)
    orders = harness.host()
    (answer,) = ask(harness, request(data), version=version)
    assert (answer.base_offset, orders.log.bounds.log_end) == (-1, 0)
    return answer


def test_each_record_set_is_acknowledged_with_its_offset_and_the_log_start() -> None:
    harness = BrokerHarness()
    harness.host(0, 0).append(memoryview(batch(3)))
    harness.broker.partitions.get("orders", 0).delete_records(2)

    found = ask(harness, request(batch(2), batch()))

    assert [(each.index, each.error_code, each.base_offset) for each in found] == [
        (0, 0, 3),
        (1, 0, 0),
    ]
    assert [each.log_start_offset for each in found] == [2, 0]


def test_append_time_is_returned_for_log_append_time() -> None:
    harness = BrokerHarness(LogConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME))
    harness.host()
    plain = BrokerHarness()
    plain.host()

    assert ask(harness, request(batch()))[0].log_append_time_ms == NOW
    assert ask(plain, request(batch()))[0].log_append_time_ms == -1


def test_offsets_are_written_into_the_request_frame() -> None:
    harness = BrokerHarness()
    harness.host(4).append(memoryview(batch(5)))
    frame = bytearray(b"".join(bytes(each) for each in encode(request(batch(2)), 9)))  # type: ignore[arg-type]  # buffers all

    run(produce(harness.broker, harness.context(9), decode(ProduceRequest, frame, 9)))

    written = batch(2)
    written[:8], written[12:16] = (5).to_bytes(8), (4).to_bytes(4)
    assert bytes(written) in frame


def test_quirk_06_topics_have_ids_from_version_13() -> None:
    harness = BrokerHarness()
    harness.host()

    found = ask(harness, request(batch(), topic="", topic_id=ORDERS_ID), version=13)
    stale = ask(harness, request(batch(), topic="", topic_id=Uuid(b"x" * 16)), version=13)

    assert [each.error_code for each in (*found, *stale)] == [0, 100]


def test_missing_partition_is_unknown_and_the_others_are_written() -> None:
    harness = BrokerHarness()
    harness.host()

    found = ask(harness, request(batch(), batch()))

    assert [(each.error_code, each.base_offset) for each in found] == [(0, 0), (3, -1)]


@pytest.mark.parametrize(
    ("version", "leader", "nodes"), ((9, None, []), (10, (2, 5), [2]), (13, (2, 5), [2]))
)
def test_quirk_24_producer_at_a_follower_receives_the_leader_from_version_10_on(
    version: int, leader: tuple[int, int] | None, nodes: list[int]
) -> None:
    harness = BrokerHarness()
    harness.metadata.publish(cluster(brokers=2).with_topic())
    harness.host().apply(PartitionImage((1, 2), (1, 2), 2, 5))
    asked = request(batch(), topic_id=ORDERS_ID)

    response = run(produce(harness.broker, harness.context(version), asked))

    (answer,) = answers(response)
    found = answer.current_leader
    assert (answer.error_code, found and (found.leader_id, found.leader_epoch)) == (6, leader)
    assert response is not None
    assert [each.node_id for each in response.node_endpoints] == nodes


@pytest.mark.parametrize("acks", (0, 1))
@pytest.mark.parametrize("topic", ("orders", "others"))
@pytest.mark.parametrize("size", (1, PLAIN.size))
def test_rejected_request_is_freed_without_the_garbage_collector(
    topic: str, acks: int, size: int
) -> None:
    harness = BrokerHarness()
    harness.host()
    data = batch(3, value=b"v" * size)
    data[-1] ^= 1
    frame = memoryview(data)
    asked, freed = request(frame, topic=topic, acks=acks), weakref.ref(frame)
    del frame, data

    async def scene(asked: ProduceRequest) -> None:
        with suppress(KafkaError):  # with acks 0 it ends the connection
            await produce(harness.broker, harness.context(9), asked)

    gc.disable()
    try:
        run(scene(asked))
        del asked
        assert freed() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("acks", (-2, 2))
def test_invalid_acks_are_rejected(acks: int) -> None:
    harness = BrokerHarness()
    orders = harness.host()

    (answer,) = ask(harness, request(batch(), acks=acks))

    assert (answer.error_code, orders.log.bounds.log_end) == (21, 0)


def test_acks_all_never_requires_more_replicas_than_exist() -> None:
    harness = BrokerHarness(given={"min.insync.replicas": "2"})
    harness.host()

    assert ask(harness, request(batch(), acks=-1))[0].error_code == 0


def test_quirk_15_acks_0_is_not_answered() -> None:
    harness = BrokerHarness()
    orders = harness.host()

    assert run(produce(harness.broker, harness.context(9), request(batch(), acks=0))) is None
    assert orders.log.bounds.high_watermark == 1


def test_quirk_15_rejection_under_acks_0_closes_the_connection() -> None:
    harness = BrokerHarness()
    harness.host()

    with pytest.raises(InvalidRecordError):
        run(produce(harness.broker, harness.context(9), request(b"", acks=0)))


def test_quirk_01_versions_from_0_are_advertised_and_versions_from_3_are_served() -> None:
    assert 0 in ROUTES
    assert (APIS[0].first, APIS[0].last) == (0, 13)
    assert ProduceRequest.__schema__.versions == (3, 13)


def test_quirk_14_duplicate_batch_is_acknowledged_with_its_offset() -> None:
    harness = BrokerHarness()
    orders = harness.host()
    for sequence in range(3):
        ask(harness, request(produced(sequence)))

    (again,) = ask(harness, request(produced(1)))

    assert (again.error_code, again.base_offset, orders.log.bounds.log_end) == (0, 1, 3)


def test_quirk_14_sequence_gap_and_old_epoch_are_rejected() -> None:
    harness = BrokerHarness()
    harness.host()
    ask(harness, request(produced(0, producer=(1, 4))))

    (gap,) = ask(harness, request(produced(2, producer=(1, 4))))
    (old_epoch,) = ask(harness, request(produced(1, producer=(1, 3))))

    assert (gap.error_code, old_epoch.error_code) == (45, 47)


def test_transactional_batch_without_a_transactional_id_is_rejected() -> None:
    assert rejected(produced(0, is_transactional=True)).error_code == 53


@pytest.mark.parametrize(
    ("data", "code"),
    (
        (None, 87),
        (b"", 87),
        (bytes(batch())[:-1], 87),
        (bytes(batch()) * 2, 87),
        (old(1), 87),
        (bytes(batch())[:-1] + b"!", 2),
        (bytes(8) + b"\0\0\0\1" + bytes(60), 2),
    ),
)
def test_record_set_that_is_not_one_whole_v2_batch_is_rejected(
    data: bytes | None, code: int
) -> None:
    answer = rejected(data)

    assert (answer.error_code, bool(answer.error_message)) == (code, True)


@pytest.mark.parametrize(("version", "code"), ((6, 76), (7, 0)))
def test_zstd_may_be_used_from_version_7_on(version: int, code: int) -> None:
    harness = BrokerHarness()
    harness.host()

    assert ask(harness, request(v2(Codec.ZSTD)), version=version)[0].error_code == code


def test_quirk_28_batch_above_max_message_bytes_is_rejected() -> None:
    config = LogConfig(max_message_bytes=len(batch()))

    assert rejected(batch(2), config=config).error_code == 10


def test_records_that_break_a_rule_of_the_topic_are_named() -> None:
    answer = rejected(v2(key=None), config=LogConfig(cleanup_policy=frozenset({COMPACT})))

    assert (answer.error_code, [each.batch_index for each in answer.record_errors]) == (
        87,
        [0, 1, 2],
    )
    message = answer.record_errors[0].batch_index_error_message
    assert message == "a compacted topic needs a key in every record"


def test_record_with_an_invalid_timestamp_is_an_invalid_timestamp_error() -> None:
    assert rejected(batch(timestamp=NOW + 3_600_001)).error_code == 32


def test_internal_topic_is_writable_only_for_kafka_s_admin_client() -> None:
    harness = BrokerHarness()
    harness.host(topic="__consumer_offsets")
    asked = request(batch(), topic="__consumer_offsets")

    assert ask(harness, asked)[0].error_code == 17
    assert ask(harness, asked, client_id="__admin_client")[0].error_code == 0


def test_quirk_24_acknowledged_records_have_no_current_leader() -> None:
    harness = BrokerHarness()
    harness.host()

    response = run(produce(harness.broker, harness.context(10), request(batch(), batch())))

    assert [each.current_leader for each in answers(response)] == [None, None]
    assert response is not None
    assert response.node_endpoints == []


def test_response_waits_for_the_fsync_of_flush_messages() -> None:
    worker = HeldWorker()
    harness = BrokerHarness(FLUSHING, worker=worker)
    harness.host(0, 0)

    over, response = run(
        meanwhile(
            produce(harness.broker, harness.context(9), request(batch(), batch())),
            lambda: None,
            worker.go_on,
        )
    )

    assert over == [False, False]
    assert [each.error_code for each in answers(response)] == [0, 0]


def test_response_of_written_records_is_pending_until_they_count() -> None:
    """The memory of the request is free again, and the connection handles the next request."""
    worker = HeldWorker()
    harness = BrokerHarness(FLUSHING, worker=worker)
    harness.host(0, 0)

    async def scene() -> tuple[bool, list[PartitionProduceResponse]]:
        context = harness.context(9)
        first = produce(harness.broker, context, request(batch(), batch()))
        await meanwhile(first, worker.go_on, worker.go_on)  # the files of the logs are made
        begun = await begin_produce(harness.broker, context, request(batch(), batch(), b""))
        assert isinstance(begun, PendingResponse)
        is_known = begun.done()
        _, response = await meanwhile(begun.response(), worker.go_on)
        assert isinstance(response, ProduceResponse)
        return is_known, answers(response)

    is_known, responses = run(scene())

    assert not is_known
    assert [each.error_code for each in responses] == [0, 0, UnknownTopicOrPartitionError.code]
    assert [each.base_offset for each in responses] == [1, 1, -1]


def test_response_is_not_pending_until_the_records_are_written() -> None:
    worker = HeldWorker()
    harness = BrokerHarness(worker=worker)
    harness.host()
    large = batch(100, value=bytes(1 << 16))

    async def scene() -> list[bool]:
        begun = begin_produce(harness.broker, harness.context(9), request(large))
        over, response = await meanwhile(begun, lambda: None, worker.go_on)
        assert isinstance(response, ProduceResponse)
        return over

    assert run(scene()) == [False, False]


def test_requests_continue_during_a_flush_and_share_the_next_flush() -> None:
    worker = HeldWorker()
    harness = BrokerHarness(FLUSHING, worker=worker)
    orders = harness.host()

    async def scene() -> list[int]:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(produce(harness.broker, harness.context(9), request(batch())))
                for _ in range(3)
            ]
            _ = await meanwhile(_nothing(), worker.go_on, worker.go_on)
        return [answers(task.result())[0].base_offset for task in tasks]

    assert run(scene()) == [0, 1, 2]
    assert orders.log.bounds.high_watermark == 3


def test_failed_flush_is_raised_to_its_waiter() -> None:
    worker = HeldWorker()
    harness = BrokerHarness(FLUSHING, worker=worker)
    harness.host()
    harness.storage.files.script.add(FileFault(on="sync", path="/a/orders-0/*.log", code=errno.EIO))

    _, response = run(
        meanwhile(produce(harness.broker, harness.context(9), request(batch())), worker.go_on)
    )

    assert answers(response)[0].error_code == 56


async def _nothing() -> None:
    return None
