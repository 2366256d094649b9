"""A broker with records to replay."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cordwood


@contextmanager
def broker_of_orders(logs: Path, records: int) -> Iterator[cordwood.Broker]:
    """Yield a broker with `records` records in a topic of two partitions."""
    with cordwood.Broker(logs, config={"num.partitions": 2}) as broker:
        with cordwood.Producer(broker.address) as producer:
            for number in range(records):
                producer.send("orders", b"%d" % number, key=b"%d" % (number % 7))
        yield broker
