"""Consumer groups from a user's view: two members share a topic, one leaves, none reads twice."""

import tempfile
import time
from collections import Counter
from collections.abc import Iterable

import cordwood

TOPIC = "orders"
GROUP = "shipping"
PARTITIONS = 4
POLL_MS = 200


def show_groups(orders: Iterable[tuple[bytes, bytes]]) -> None:
    """Let two members read half of the orders, close one, and let the other read the rest."""
    records = list(orders)
    with tempfile.TemporaryDirectory() as folder, cordwood.Broker(folder) as broker:
        with cordwood.Admin(broker.address) as admin:
            admin.create_topic(TOPIC, partitions=PARTITIONS)
        with cordwood.Producer(broker.address) as producer:
            for key, value in records:
                producer.send(TOPIC, value, key=key)
        began = time.perf_counter()
        counts, read = _read_by_two(broker.address, len(records))
        seconds = time.perf_counter() - began
    assert read == Counter(value for _, value in records), "an order was lost, or was read twice"
    shares = " and ".join(f"{count:,}" for count in counts)
    print(
        f"group `{GROUP}`: {len(records):,} orders in {PARTITIONS} partitions, read in"
        f" {seconds:.1f} s by two members; the first one left half way.\nThey read {shares}"
        " orders: each one once, by the committed offsets.\n"
    )


def _read_by_two(address: str, count: int) -> tuple[list[int], Counter[bytes | None]]:
    """Return how many records each member read, and all values."""
    first, second = _member(address), _member(address)
    values: list[list[bytes | None]] = [[], []]
    with second:
        with first:
            while sum(map(len, values)) < count // 2 or not all(values):
                values[0] += [record.value for record in first.poll(timeout_ms=POLL_MS)]
                values[1] += [record.value for record in second.poll(timeout_ms=POLL_MS)]
            first.commit()
        while sum(map(len, values)) < count:
            values[1] += [record.value for record in second.poll(timeout_ms=POLL_MS)]
    return [len(each) for each in values], Counter(value for each in values for value in each)


def _member(address: str) -> cordwood.Consumer:
    """Return a new member, which reads a few hundred records at a time."""
    member = cordwood.Consumer(
        address, group_id=GROUP, auto_offset_reset="earliest", max_poll_records=500
    )
    member.subscribe([TOPIC])
    return member
