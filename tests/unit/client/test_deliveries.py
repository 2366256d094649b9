"""A delivery can be waited for on a thread and on a loop."""

import threading

import pytest

from cordwood.client.deliveries import Delivery
from cordwood.client.fate import Fate
from cordwood.client.places import partitions_of
from cordwood.core.errors import MessageTooLargeError, RequestTimedOutError
from tests.unit.client.fake_broker import run

(PARTITION,) = partitions_of([("t", 2)])


def test_delivery_waits_on_a_thread_until_its_batch_is_known() -> None:
    fate = Fate(PARTITION)
    delivery = Delivery(fate, 1, timestamp=5)
    teller = threading.Thread(target=fate.succeed, args=(10, -1))
    teller.start()

    assert delivery.result(60).offset == 11
    teller.join()


def test_delivery_gives_up_waiting_without_ending() -> None:
    delivery = Delivery(Fate(PARTITION), 0, timestamp=5)

    with pytest.raises(RequestTimedOutError, match=r"t-2.* after 0\.001 s, still under way"):
        delivery.result(0.001)
    assert not delivery.done()
    assert "under way" in repr(delivery)


def test_delivery_is_awaited_on_a_loop() -> None:
    async def scene() -> int:
        fate = Fate(PARTITION)
        known = Delivery(fate, 0, timestamp=5)
        fate.succeed(10, -1)
        return (await known).offset

    assert run(scene()) == 10


def test_delivery_raises_its_batchs_error() -> None:
    fate = Fate(PARTITION)
    delivery, done = Delivery(fate, 0, timestamp=5), list[Delivery]()
    delivery.add_done_callback(done.append)

    fate.fail(MessageTooLargeError("too large"))

    with pytest.raises(MessageTooLargeError):
        delivery.result()
    assert isinstance(delivery.exception(), MessageTooLargeError)
    assert done == [delivery]
