"""Exactly once: write the receipts and commit the offsets in one transaction.

    python -m examples.delivery.exactly_once 127.0.0.1:9092

Each record of the topic `orders` becomes one of the topic `receipts`. Receipts and offsets count
when the transaction is committed, all of them or none. A program that is killed before leaves an
open transaction. Its successor has the same transactional id, aborts that transaction in `init`,
and reads the same orders again. Readers of `receipts` need isolation_level="read_committed".
"""

import sys

import cordwood


def receipt(order: cordwood.ConsumedRecord) -> bytes:
    """Return the receipt of an order."""
    return b"received: " + (order.value or b"")


def write_receipts(consumer: cordwood.Consumer, producer: cordwood.Producer) -> None:
    """Write the receipts of the next orders."""
    orders = consumer.poll()
    producer.begin()
    for order in orders:
        producer.send("receipts", receipt(order))
    done = {(order.topic, order.partition): order.offset + 1 for order in orders}
    producer.send_offsets(done, consumer.group_metadata())
    producer.commit()


def run(bootstrap: str) -> None:
    """Write receipts until an error or a kill ends the program; then start it again."""
    consumer = cordwood.Consumer(
        bootstrap,
        group="receipts",
        group_instance_id="receipts-1",  # a restart takes over its own partitions at once
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",
    )
    producer = cordwood.Producer(bootstrap, transactional_id="receipts-1")
    with consumer, producer:
        producer.init()
        consumer.subscribe(["orders"])
        while True:
            write_receipts(consumer, producer)


if __name__ == "__main__":
    run(sys.argv[1])
