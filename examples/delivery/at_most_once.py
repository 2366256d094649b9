"""At most once: commit the offsets, then write the receipts.

    python -m examples.delivery.at_most_once 127.0.0.1:9092

Each record of the topic `orders` becomes one of the topic `receipts`. The offsets are committed
first: orders count as done before their receipts are sent. A program that is killed in between
loses these receipts. It never writes a receipt twice.
"""

import sys

import cordwood


def receipt(order: cordwood.ConsumedRecord) -> bytes:
    """Return the receipt of an order."""
    return b"received: " + (order.value or b"")


def write_receipts(consumer: cordwood.Consumer, producer: cordwood.Producer) -> None:
    """Write the receipts of the next orders."""
    orders = consumer.poll()
    consumer.commit()
    for order in orders:
        producer.send("receipts", receipt(order))


def run(bootstrap: str) -> None:
    """Write receipts until an error or a kill ends the program; then start it again."""
    consumer = cordwood.Consumer(
        bootstrap,
        group="receipts",
        group_instance_id="receipts-1",  # a restart takes over its own partitions at once
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    producer = cordwood.Producer(bootstrap)
    with consumer, producer:
        consumer.subscribe(["orders"])
        while True:
            write_receipts(consumer, producer)


if __name__ == "__main__":
    run(sys.argv[1])
