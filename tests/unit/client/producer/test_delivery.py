"""Deliveries: waits on a thread and on a loop."""

import threading

import pytest

from cordwood.client.producer.batch_result import BatchResult
from cordwood.client.producer.delivery import Delivery
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import InvalidRequestError, MessageTooLargeError, RequestTimedOutError
from tests.unit.client.fake_broker import run

(PARTITION,) = partitions_of([("t", 2)])


def test_delivery_waits_on_a_thread_until_its_batch_is_done() -> None:
    batch_result = BatchResult(PARTITION)
    delivery = Delivery(batch_result, 1, timestamp=5)
    teller = threading.Thread(target=batch_result.succeed, args=(10, -1))
    teller.start()

    assert delivery.result(60).offset == 11
    teller.join()


def test_delivery_wait_times_out_and_stays_pending() -> None:
    delivery = Delivery(BatchResult(PARTITION), 0, timestamp=5)

    with pytest.raises(RequestTimedOutError, match=r"t-2.* after 0\.001 s; .* in flight"):
        delivery.result(0.001)
    assert not delivery.done()
    assert "pending" in repr(delivery)


def test_delivery_is_awaited_on_a_loop() -> None:
    async def scene() -> int:
        batch_result = BatchResult(PARTITION)
        known = Delivery(batch_result, 0, timestamp=5)
        batch_result.succeed(10, -1)
        return (await known).offset

    assert run(scene()) == 10


def test_delivery_raises_its_batchs_error() -> None:
    batch_result = BatchResult(PARTITION)
    delivery, done = Delivery(batch_result, 0, timestamp=5), list[Delivery]()
    delivery.add_done_callback(done.append)

    batch_result.fail(MessageTooLargeError("too large"))

    with pytest.raises(MessageTooLargeError):
        delivery.result()
    assert isinstance(delivery.exception(), MessageTooLargeError)
    assert done == [delivery]


def test_wait_on_an_event_loop_is_rejected() -> None:
    """K-B2: the wait would block the loop that completes the record."""

    async def scene() -> None:
        delivery = Delivery(BatchResult(PARTITION), 0, timestamp=5)
        with pytest.raises(InvalidRequestError, match=r"t-2: `result` would block the event loop"):
            delivery.result(5)

    run(scene())
