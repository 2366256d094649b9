"""The sender delivers batches once and in order, through every error."""

import pytest

from cordwood.client.producer.delivery import Delivery
from cordwood.client.producer.producer import Producer
from cordwood.core.errors import (
    ClusterAuthorizationFailedError,
    InvalidRequestError,
    KafkaError,
    MessageTooLargeError,
    NetworkError,
    RequestTimedOutError,
)
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.metadata import MetadataRequest
from cordwood.protocol.messages.produce import ProduceRequest, ProduceResponse
from cordwood.records.batch_builder import BatchBuilder
from cordwood.records.record_batch import RecordBatch
from tests.unit.client.fake_broker import FakeBroker, Hangup, broker, partition_answer, run

Plain = Producer[bytes, bytes]

#: More than enough: some of them precede the same refresh.
REJECTIONS = 40


def producer(fake: FakeBroker, **options: object) -> Plain:
    """Yield a producer without linger time and backoff."""
    return Producer(fake.address, **{"linger_ms": 0, "retry_backoff_ms": 1, **options})  # type: ignore[arg-type]  # by name


def refused(code: int) -> ProduceResponse:
    made = partition_answer(error_code=code)
    assert isinstance(made, ProduceResponse)
    return made


def written(fake: FakeBroker) -> list[bytes | None]:
    return [record.value for data in fake.logs["t", 0] for record in RecordBatch(data).records()]


def sequences(fake: FakeBroker) -> list[tuple[int, int, int]]:
    batches = [RecordBatch(data) for data in fake.logs["t", 0]]
    return [(each.producer_id, each.producer_epoch, each.base_sequence) for each in batches]


def _hang_up(_: ProduceRequest) -> None:
    raise Hangup


def test_batch_is_delivered_after_the_cluster_has_lost_its_metadata(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake, retry_backoff_max_ms=1) as sender:
            fake.leader_epoch = 5
            await (await sender.send("t", b"v"))
            fake.leader_epoch = 2
            fake.script(ProduceRequest, *[lambda _: refused(6)] * REJECTIONS)
            await (await sender.send("t", b"w"))
            assert written(fake) == [b"v", b"w"]

    run(scene())

    assert "t-0: leader epoch 2 of broker 1 is adopted" in caplog.text


def test_batches_carry_the_sequences_of_an_idempotent_producer() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake) as sender:
            for _ in range(3):
                await (await sender.send("t", b"v"))
            assert sequences(fake) == [(7, 0, 0), (7, 0, 1), (7, 0, 2)]
            assert len(fake.requests(InitProducerIdRequest)) == 1

    run(scene())


def test_producer_without_idempotence_requests_no_id() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake, enable_idempotence=False) as sender:
            await (await sender.send("t", b"v"))
            assert sequences(fake) == [(-1, -1, -1)]
            assert not fake.requests(InitProducerIdRequest)

    run(scene())


@pytest.mark.parametrize("code", (3, 6, 7, 14, 19))
def test_batch_is_sent_again_after_an_error_that_passes(code: int) -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake) as sender:
            fake.script(ProduceRequest, lambda _: refused(code))
            assert (await (await sender.send("t", b"v"))).offset == 0
            assert sequences(fake) == [(7, 0, 0)]

    run(scene())


def test_batch_is_sent_again_when_the_connection_broke() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake) as sender:
            fake.script(ProduceRequest, _hang_up)
            assert (await (await sender.send("t", b"v"))).offset == 0

    run(scene())


def test_order_is_kept_when_the_first_of_many_batches_is_rejected() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake, batch_size=1) as sender:
            await (await sender.send("t", b"first"))
            fake.script(ProduceRequest, lambda _: refused(6), lambda _: refused(45))
            for n in range(8):
                await sender.send("t", b"%d" % n)
            await sender.flush()
            assert written(fake) == [b"first", *(b"%d" % n for n in range(8))]
            assert [each[1:] for each in sequences(fake)] == [(0, n) for n in range(9)]

    run(scene())


class _Restarted:
    """A leader that has the batches of sequences 1 and 2, and knows the last one alone.

    It has lost the response to the first request, and refuses the last batch for some time.
    """

    def __init__(self, refusals: int) -> None:
        self._refusals = refusals
        self._is_new = True

    def __call__(self, request: ProduceRequest) -> ProduceResponse:
        if self._is_new:
            self._is_new = False
            raise Hangup
        records = request.topics[0].partitions[0].records
        assert isinstance(records, memoryview), "what was read is a view"
        if RecordBatch(records).base_sequence == 1:
            return refused(45)
        self._refusals -= 1
        return refused(6 if self._refusals >= 0 else 46)


@pytest.mark.parametrize("refusals", (0, 1, 3))
def test_batch_that_a_restarted_leader_has_forgotten_is_not_written_again(refusals: int) -> None:
    async def scene() -> None:
        options = {"batch_size": 1, "retry_backoff_max_ms": 1}
        async with broker(t=1) as fake, producer(fake, **options) as sender:
            await (await sender.send("t", b"first"))
            fake.script(ProduceRequest, *[_Restarted(refusals)] * REJECTIONS)
            deliveries = [await sender.send("t", value) for value in (b"second", b"third")]
            await sender.flush()
            assert [(await each).offset for each in deliveries] == [-1, -1]
            assert written(fake) == [b"first"]

    run(scene())


def test_sequences_restart_when_the_producer_id_is_unknown() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake) as sender:
            await (await sender.send("t", b"a"))
            fake.script(ProduceRequest, lambda _: refused(59))
            await (await sender.send("t", b"b"))
            assert sequences(fake) == [(7, 0, 0), (7, 1, 0)]

    run(scene())


def test_new_producer_id_is_requested_when_the_epoch_is_invalid() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake) as sender:
            await (await sender.send("t", b"a"))
            fake.script(ProduceRequest, lambda _: refused(47))
            fake.script(
                InitProducerIdRequest,
                lambda _: InitProducerIdResponse(error_code=0, producer_id=8, producer_epoch=0),
            )
            await (await sender.send("t", b"b"))
            assert sequences(fake) == [(7, 0, 0), (8, 0, 0)]

    run(scene())


def test_batch_that_the_broker_has_already_is_delivered() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake) as sender:
            fake.script(ProduceRequest, lambda _: refused(46))
            assert (await (await sender.send("t", b"v"))).offset == -1

    run(scene())


def test_error_of_a_rejected_batch_names_partition_and_remedy() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake) as sender:
            fake.script(ProduceRequest, lambda _: refused(10))
            with pytest.raises(MessageTooLargeError, match=r"t-0: .*raise max.message.bytes"):
                await (await sender.send("t", b"v"))

    run(scene())


def test_undeliverable_batch_expires_after_the_delivery_timeout() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake, delivery_timeout_ms=30) as sender:
            fake.script(ProduceRequest, *[lambda _: refused(6)] * 1_000)
            with pytest.raises(RequestTimedOutError, match=r"t-0: 1 records .* last error: t-0"):
                await (await sender.send("t", b"v"))

    run(scene())


def test_partition_of_a_partitioner_that_does_not_exist_is_refused_at_once() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, Plain(fake.address, partitioner=lambda *_: 7) as sender:
            with pytest.raises(InvalidRequestError, match="no partition 7"):
                await sender.send("t", b"v")

    run(scene())


def test_batch_in_flight_expires_after_the_delivery_timeout() -> None:
    async def scene() -> None:
        # Long enough for a busy machine to connect and to send the batch before its timeout.
        async with broker(t=1) as fake, producer(fake, delivery_timeout_ms=500) as sender:
            fake.script(ProduceRequest, lambda _: None)
            with pytest.raises(RequestTimedOutError, match=r"may be in the log.* no response"):
                await (await sender.send("t", b"v"))
            assert len(fake.requests(ProduceRequest)) == 1

    run(scene())


def test_batch_in_flight_without_idempotence_is_not_sent_again_after_its_timeout() -> None:
    async def scene() -> None:
        plain = {"enable_idempotence": False, "delivery_timeout_ms": 30, "request_timeout_ms": 60}
        async with broker(t=1) as fake, producer(fake, **plain) as sender:
            fake.script(ProduceRequest, lambda _: None)
            with pytest.raises(RequestTimedOutError):
                await (await sender.send("t", b"v"))
            await fake.next_request()
            await (await sender.send("t", b"w"))
            assert written(fake) == [b"w"]

    run(scene())


def test_producer_without_permission_for_an_id_raises() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake) as sender:
            fake.script(
                InitProducerIdRequest,
                lambda _: InitProducerIdResponse(error_code=31, producer_epoch=-1),
            )
            with pytest.raises(ClusterAuthorizationFailedError, match="producer id"):
                await (await sender.send("t", b"v"))

    run(scene())


def test_send_waits_for_memory_until_max_block_ms() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake:
            few = {"buffer_memory": 100, "max_block_ms": 20, "request_timeout_ms": 100}
            async with producer(fake, **few, delivery_timeout_ms=100) as sender:
                fake.script(ProduceRequest, lambda _: None)
                first = await sender.send("t", bytes(60))
                with pytest.raises(RequestTimedOutError, match="buffer_memory"):
                    await sender.send("t", bytes(60))
                with pytest.raises(KafkaError):
                    await first

    run(scene())


def test_send_continues_when_memory_is_available_again() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake, buffer_memory=100) as sender:
            for _ in range(5):
                await sender.send("t", bytes(60))
            await sender.flush()
            assert len(written(fake)) == 5

    run(scene())


def test_batches_lead_to_few_requests_when_they_linger() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake, linger_ms=60_000) as sender:
            for _ in range(50):
                await sender.send("t", b"v")
            await sender.flush()
            assert len(fake.requests(ProduceRequest)) == 1
            assert len(written(fake)) == 50

    run(scene())


def test_batches_are_sent_while_others_are_filled() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake, batch_size=1_000) as sender:
            await (await sender.send("t", b"v"))
            sent = [await sender.send("t", bytes(100)) for _ in range(500)]
            assert sent[0].done()

    run(scene())


def test_new_leader_is_found_through_the_cluster() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake) as sender:
            await (await sender.send("t", b"v"))
            before = len(fake.requests(MetadataRequest))
            fake.script(ProduceRequest, lambda _: refused(6))
            await (await sender.send("t", b"v"))
            assert len(fake.requests(MetadataRequest)) > before

    run(scene())


def test_close_fails_undelivered_batches() -> None:
    async def scene() -> None:
        async with broker(t=1) as fake:
            sender = producer(fake)
            await sender.start()
            fake.script(ProduceRequest, lambda _: None)
            delivery = await sender.send("t", b"v")
            await sender.close(10)
            with pytest.raises(NetworkError, match="closed before"):
                await delivery
            with pytest.raises(InvalidRequestError, match="producer is closed"):
                await sender.send("t", b"v")

    run(scene())


def _raise(_: Delivery) -> None:
    raise ValueError("callback")


@pytest.mark.parametrize("code", (0, 10))
def test_callback_that_raises_stops_neither_the_answer_nor_the_sender(code: int) -> None:
    """K-B1: every other delivery completes, flush returns, and the next record is delivered."""

    async def scene() -> None:
        async with broker(t=2) as fake, producer(fake, linger_ms=60_000) as sender:
            if code:
                fake.script(ProduceRequest, lambda _: refused(code))
            sent = [await sender.send("t", b"v", partition=each) for each in (0, 0, 1)]
            for each in sent:
                each.add_done_callback(_raise)
            await sender.flush()
            assert [each.done() for each in sent] == [True, True, True]
            later = await sender.send("t", b"w", partition=0)
            await sender.flush()
            assert later.exception() is None

    run(scene())


def test_callback_of_an_expired_record_that_raises_does_not_stop_the_sender() -> None:
    """K-B1: the error does not leave the task that sends."""

    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake, delivery_timeout_ms=30) as sender:
            fake.script(ProduceRequest, *[lambda _: refused(19)] * 1_000)
            late = await sender.send("t", b"v")
            late.add_done_callback(_raise)
            with pytest.raises(RequestTimedOutError):
                await late
            fake._scripts[ProduceRequest].clear()  # noqa: SLF001 - the broker is well again
            await (await sender.send("t", b"w"))
            assert written(fake) == [b"w"]

    run(scene())


def test_batch_that_cannot_be_built_fails_and_the_next_is_delivered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """K-C11: the request is no longer counted, and the batch is not in flight forever."""

    def build(_: BatchBuilder) -> bytearray:
        raise MemoryError("no room")

    async def scene() -> None:
        async with broker(t=1) as fake, producer(fake) as sender:
            with monkeypatch.context() as patch:
                patch.setattr(BatchBuilder, "build", build)
                with pytest.raises(KafkaError, match="cannot be sent: MemoryError: no room"):
                    await (await sender.send("t", b"v"))
            await (await sender.send("t", b"w"))
            assert written(fake) == [b"w"]

    run(scene())
