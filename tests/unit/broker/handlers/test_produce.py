"""Produce answers each partition by itself, once its records count."""

import asyncio
import errno

import pytest

from cordwood.broker.dispatch import ROUTES
from cordwood.broker.handlers.produce import produce
from cordwood.core.errors import InvalidRecordError
from cordwood.core.ids import NO_UUID, Uuid
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
from cordwood.testing.faults import Fault
from tests.unit.broker.broker_samples import Hall, meanwhile, run
from tests.unit.storage.log_samples import NOW, batch, produced
from tests.unit.storage.manager_samples import ORDERS_ID, HeldWorker
from tests.unit.storage.produced import old, v2

FLUSHING = LogConfig(flush_messages=1)


def request(
    *sets: bytes | bytearray | None,
    acks: int = -1,
    topic: str = "orders",
    topic_id: Uuid = NO_UUID,
) -> ProduceRequest:
    """Return a request with a set for each partition of a topic."""
    return ProduceRequest(
        acks=acks,
        timeout_ms=1000,
        topics=[
            TopicProduceData(
                name=topic,
                topic_id=topic_id,
                partitions=[
                    PartitionProduceData(
                        index=index, records=None if each is None else memoryview(bytearray(each))
                    )
                    for index, each in enumerate(sets)
                ],
            )
        ],
    )


def answers(response: ProduceResponse | None) -> list[PartitionProduceResponse]:
    assert response is not None
    return [each for topic in response.responses for each in topic.partitions]


def ask(
    hall: Hall, asked: ProduceRequest, *, version: int = 9, client_id: str = "client"
) -> list[PartitionProduceResponse]:
    context = hall.context(version, client_id=client_id)
    return answers(run(produce(hall.broker, context, asked)))


def refused(
    data: bytes | bytearray | None, *, version: int = 9, config: LogConfig | None = None
) -> PartitionProduceResponse:
    """Return the one answer to a set that is not written."""
    hall = Hall(config)
    orders = hall.host()
    (answer,) = ask(hall, request(data), version=version)
    assert (answer.base_offset, orders.log.bounds.log_end) == (-1, 0)
    return answer


def test_every_set_is_answered_with_its_offset_and_the_log_start() -> None:
    hall = Hall()
    hall.host(0, 0).append(memoryview(batch(3)))
    hall.broker.partitions.get("orders", 0).delete_records(2)

    found = ask(hall, request(batch(2), batch()))

    assert [(each.index, each.error_code, each.base_offset) for each in found] == [
        (0, 0, 3),
        (1, 0, 0),
    ]
    assert [each.log_start_offset for each in found] == [2, 0]


def test_time_is_told_where_the_broker_sets_it() -> None:
    hall = Hall(LogConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME))
    hall.host()
    plain = Hall()
    plain.host()

    assert ask(hall, request(batch()))[0].log_append_time_ms == NOW
    assert ask(plain, request(batch()))[0].log_append_time_ms == -1


def test_set_is_numbered_where_it_lies_in_the_frame() -> None:
    hall = Hall()
    hall.host(4).append(memoryview(batch(5)))
    frame = bytearray(b"".join(bytes(each) for each in encode(request(batch(2)), 9)))  # type: ignore[arg-type]  # buffers all

    run(produce(hall.broker, hall.context(9), decode(ProduceRequest, frame, 9)))

    written = batch(2)
    written[:8], written[12:16] = (5).to_bytes(8), (4).to_bytes(4)
    assert bytes(written) in frame


def test_quirk_06_topics_come_by_id_from_version_13_on() -> None:
    hall = Hall()
    hall.host()

    found = ask(hall, request(batch(), topic="", topic_id=ORDERS_ID), version=13)
    stale = ask(hall, request(batch(), topic="", topic_id=Uuid(b"x" * 16)), version=13)

    assert [each.error_code for each in (*found, *stale)] == [0, 100]


def test_partition_that_is_not_here_is_unknown_and_the_others_are_written() -> None:
    hall = Hall()
    hall.host()

    found = ask(hall, request(batch(), batch()))

    assert [(each.error_code, each.base_offset) for each in found] == [(0, 0), (3, -1)]


@pytest.mark.parametrize("acks", (-2, 2))
def test_acks_that_do_not_exist_are_refused(acks: int) -> None:
    hall = Hall()
    orders = hall.host()

    (answer,) = ask(hall, request(batch(), acks=acks))

    assert (answer.error_code, orders.log.bounds.log_end) == (21, 0)


def test_acks_of_all_asks_for_no_more_replicas_than_there_are() -> None:
    hall = Hall(given={"min.insync.replicas": "2"})
    hall.host()

    assert ask(hall, request(batch(), acks=-1))[0].error_code == 0


def test_quirk_15_acks_0_is_not_answered() -> None:
    hall = Hall()
    orders = hall.host()

    assert run(produce(hall.broker, hall.context(9), request(batch(), acks=0))) is None
    assert orders.log.bounds.high_watermark == 1


def test_quirk_15_what_is_refused_under_acks_0_escapes_so_that_the_connection_ends() -> None:
    hall = Hall()
    hall.host()

    with pytest.raises(InvalidRecordError):
        run(produce(hall.broker, hall.context(9), request(b"", acks=0)))


def test_quirk_01_versions_from_0_are_advertised_and_those_from_3_are_served() -> None:
    assert 0 in ROUTES
    assert (APIS[0].first, APIS[0].last) == (0, 13)
    assert ProduceRequest.__schema__.versions == (3, 13)


def test_quirk_14_batch_that_comes_again_is_answered_with_where_it_is() -> None:
    hall = Hall()
    orders = hall.host()
    for sequence in range(3):
        ask(hall, request(produced(sequence)))

    (again,) = ask(hall, request(produced(1)))

    assert (again.error_code, again.base_offset, orders.log.bounds.log_end) == (0, 1, 3)


def test_quirk_14_gap_in_the_sequence_and_an_old_epoch_are_refused() -> None:
    hall = Hall()
    hall.host()
    ask(hall, request(produced(0, producer=(1, 4))))

    (gap,) = ask(hall, request(produced(2, producer=(1, 4))))
    (old_epoch,) = ask(hall, request(produced(1, producer=(1, 3))))

    assert (gap.error_code, old_epoch.error_code) == (45, 47)


def test_transactional_batch_is_part_of_no_transaction_that_is_known() -> None:
    assert refused(produced(0, is_transactional=True)).error_code == 48


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
def test_set_that_is_no_whole_batch_of_v2_is_refused(data: bytes | None, code: int) -> None:
    answer = refused(data)

    assert (answer.error_code, bool(answer.error_message)) == (code, True)


@pytest.mark.parametrize(("version", "code"), ((6, 76), (7, 0)))
def test_zstd_may_be_used_from_version_7_on(version: int, code: int) -> None:
    hall = Hall()
    hall.host()

    assert ask(hall, request(v2(Codec.ZSTD)), version=version)[0].error_code == code


def test_quirk_28_batch_that_is_too_large_is_refused() -> None:
    config = LogConfig(max_message_bytes=len(batch()))

    assert refused(batch(2), config=config).error_code == 10


def test_records_that_break_a_rule_of_the_topic_are_named() -> None:
    answer = refused(v2(key=None), config=LogConfig(cleanup_policy=frozenset({COMPACT})))

    assert (answer.error_code, [each.batch_index for each in answer.record_errors]) == (
        87,
        [0, 1, 2],
    )
    message = answer.record_errors[0].batch_index_error_message
    assert message == "a compacted topic takes no record without a key"


def test_record_out_of_time_makes_the_error_one_of_timestamps() -> None:
    assert refused(batch(timestamp=NOW + 3_600_001)).error_code == 32


def test_internal_topic_is_written_by_those_who_look_after_it_alone() -> None:
    hall = Hall()
    hall.host(topic="__consumer_offsets")
    asked = request(batch(), topic="__consumer_offsets")

    assert ask(hall, asked)[0].error_code == 17
    assert ask(hall, asked, client_id="__admin_client")[0].error_code == 0


def test_quirk_24_answers_name_no_other_leader_since_there_is_none() -> None:
    hall = Hall()
    hall.host()

    response = run(produce(hall.broker, hall.context(10), request(batch(), batch())))

    assert [each.current_leader for each in answers(response)] == [None, None]
    assert response is not None
    assert response.node_endpoints == []


def test_answer_waits_for_the_disk_where_the_topic_says_so() -> None:
    worker = HeldWorker()
    hall = Hall(FLUSHING, worker=worker)
    hall.host(0, 0)

    over, response = run(
        meanwhile(
            produce(hall.broker, hall.context(9), request(batch(), batch())),
            lambda: None,
            worker.go_on,
        )
    )

    assert over == [False, False]
    assert [each.error_code for each in answers(response)] == [0, 0]


def test_others_go_on_while_one_waits_for_the_disk_and_share_the_next_flush() -> None:
    worker = HeldWorker()
    hall = Hall(FLUSHING, worker=worker)
    orders = hall.host()

    async def scene() -> list[int]:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(produce(hall.broker, hall.context(9), request(batch())))
                for _ in range(3)
            ]
            _ = await meanwhile(_nothing(), worker.go_on, worker.go_on)
        return [answers(task.result())[0].base_offset for task in tasks]

    assert run(scene()) == [0, 1, 2]
    assert orders.log.bounds.high_watermark == 3


def test_disk_that_fails_is_told_to_who_waits_for_it() -> None:
    worker = HeldWorker()
    hall = Hall(FLUSHING, worker=worker)
    hall.host()
    hall.house.files.script.add(Fault(on="sync", path="/a/orders-0/*.log", code=errno.EIO))

    _, response = run(
        meanwhile(produce(hall.broker, hall.context(9), request(batch())), worker.go_on)
    )

    assert answers(response)[0].error_code == 56


async def _nothing() -> None:
    return None
