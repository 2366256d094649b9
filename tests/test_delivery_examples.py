"""The programs of `examples/delivery`, killed before each of their statements.

Five orders are waiting. A program is killed with SIGKILL, one more order arrives, and the program
is started again. Once the receipt of the last order is there, the other receipts are counted.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

import cordwood
from examples.delivery import at_least_once, at_most_once, exactly_once
from tests.killed_programs import Step, kill_before, running, steps

if TYPE_CHECKING:
    from cordwood.testing.kafka_fixture import Kafka

pytestmark = pytest.mark.timeout(300)

ORDERS: Final = 5
LAST: Final = b"the last one"
NEXT_POLL: Final = "orders = consumer.poll()"
RECEIPT: Final = 'return b"received: " + (order.value or b"")'
THIRD_RECEIPT: Final = f"{RECEIPT} (third)"


class Count(NamedTuple):
    """Orders without a receipt, and receipts that are there again."""

    lost: int
    repeated: int


class Promise(NamedTuple):
    """The possible counts after a kill."""

    lost: range
    repeated: range

    def allows(self, count: Count) -> bool:
        return count.lost in self.lost and count.repeated in self.repeated


def up_to(most: int, *, least: int = 0) -> range:
    return range(least, most + 1)


NONE: Final = up_to(0)
EXACT: Final = Promise(NONE, NONE)
ALL_LOST: Final = Promise(up_to(ORDERS, least=ORDERS), NONE)
ALL_REPEATED: Final = Promise(NONE, up_to(ORDERS, least=ORDERS))

#: The cost of a kill before each statement. A record that is being sent may be written or not.
PROMISES: Final[dict[ModuleType, dict[str, Promise]]] = {
    at_most_once: {
        "consumer.commit()": EXACT,
        "for order in orders:": ALL_LOST,
        'producer.send("receipts", receipt(order))': ALL_LOST,
        RECEIPT: ALL_LOST,
        THIRD_RECEIPT: Promise(up_to(ORDERS, least=ORDERS - 2), NONE),
        NEXT_POLL: Promise(up_to(ORDERS), NONE),
    },
    at_least_once: {
        'deliveries = [producer.send("receipts", receipt(order)) for order in orders]': EXACT,
        RECEIPT: EXACT,
        THIRD_RECEIPT: Promise(NONE, up_to(2)),
        "for delivery in deliveries:": Promise(NONE, up_to(ORDERS)),
        "delivery.result()": Promise(NONE, up_to(ORDERS)),
        "consumer.commit()": ALL_REPEATED,
        NEXT_POLL: EXACT,
    },
    exactly_once: {
        "producer.begin()": EXACT,
        "for order in orders:": EXACT,
        'producer.send("receipts", receipt(order))': EXACT,
        RECEIPT: EXACT,
        THIRD_RECEIPT: EXACT,
        "done = {(order.topic, order.partition): order.offset + 1 for order in orders}": EXACT,
        "producer.send_offsets(done, consumer.group_metadata())": EXACT,
        "producer.commit()": EXACT,
        NEXT_POLL: EXACT,
    },
}
PROGRAMS: Final = {each.__name__.rpartition(".")[2]: each for each in PROMISES}


def order(kafka: "Kafka", *values: bytes) -> None:
    with cordwood.Producer(kafka.bootstrap) as producer:
        for value in values:
            producer.send("orders", value)


def receipts(kafka: "Kafka") -> Counter[bytes]:
    """Return the orders that have a receipt, as soon as the last one has."""
    found = Counter[bytes]()
    with cordwood.Consumer(kafka.bootstrap, isolation_level="read_committed") as consumer:
        consumer.assign([("receipts", 0)])
        consumer.seek_to_beginning()
        while LAST not in found:
            found.update(
                (each.value or b"").removeprefix(b"received: ") for each in consumer.poll()
            )
    return found


def kills(program: ModuleType) -> dict[str, Step]:
    found = {step.text: step for step in steps(program, "receipt", "write_receipts")}
    return found | {THIRD_RECEIPT: replace(found[RECEIPT], passes=2)}


def count_after_kill(kafka: "Kafka", program: ModuleType, step: Step) -> Count:
    orders = [b"%d" % number for number in range(ORDERS)]
    kafka.create_topic("receipts")
    order(kafka, *orders)
    kill_before(step, program, kafka.bootstrap)
    order(kafka, LAST)
    with running(program, kafka.bootstrap):
        found = receipts(kafka)
    assert set(found) <= {*orders, LAST}
    return Count(sum(not found[each] for each in orders), found.total() - len(found))


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_keeps_its_promise_when_it_is_killed_before_any_statement(
    name: str, kafka_broker: "Callable[..., Kafka]", report: Callable[[str], None]
) -> None:
    program, found = PROGRAMS[name], dict[str, Count]()
    promises = PROMISES[program]
    assert set(kills(program)) == set(promises)

    for text, step in kills(program).items():
        found[text] = count_after_kill(kafka_broker(), program, step)

    lost, repeated = zip(*(found[text] for text in promises), strict=True)
    report(
        f"delivery, {name}: killed before each of {len(found)} steps with {ORDERS} records:"
        f" lost {lost}, repeated {repeated}"
    )
    assert {text: each for text, each in found.items() if not promises[text].allows(each)} == {}


def test_kill_before_the_commit_leaves_a_transaction_that_the_next_run_aborts(
    kafka: "Kafka",
) -> None:
    kafka.create_topic("receipts")
    order(kafka, b"plank")
    kill_before(kills(exactly_once)["producer.commit()"], exactly_once, kafka.bootstrap)
    with ExitStack() as stack:
        admin = stack.enter_context(cordwood.Admin(kafka.bootstrap))
        (left,) = admin.describe_transactions(["receipts-1"])
        order(kafka, LAST)
        stack.enter_context(running(exactly_once, kafka.bootstrap))
        found = receipts(kafka)

    assert left.state == "Ongoing"
    assert found == {b"plank": 1, LAST: 1}
