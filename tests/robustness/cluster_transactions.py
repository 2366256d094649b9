"""Transactions and members of groups at work on a cluster, and the ledger of the transactions.

Each transaction has one record in each partition, with its number, and an offset of a group. Each
fifth one is aborted. A producer that fails is replaced by another one of the same transactional id.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from threading import Condition, Event
from typing import Final, TypeAlias

import cordwood
from cordwood.core.errors import CordwoodError
from tests.robustness.cluster_chaos import PARTITIONS, PATIENCE_S

TOPIC: Final = "orders"
PROTOCOLS: Final = ("classic", "consumer")
_ABORTED_EACH: Final = 5
_POLL_MS: Final = 200

_Text: TypeAlias = bytes | bytearray | memoryview | str


class TransactionLedger:
    """The transactions that a producer has committed or aborted; others are in doubt."""

    def __init__(self) -> None:
        self.committed = set[int]()
        self.aborted = set[int]()
        self._changed = Condition()

    def add(self, to: set[int], number: int) -> None:
        """Add a transaction that has ended."""
        with self._changed:
            to.add(number)
            self._changed.notify_all()

    def wait_for_more(self, number: int) -> None:
        """Wait until more transactions are committed."""
        wanted = len(self.committed) + number
        with self._changed:
            done = self._changed.wait_for(lambda: len(self.committed) >= wanted, PATIENCE_S)
        assert done, f"{len(self.committed)} of {wanted} transactions are committed"

    def faults(self, found: Mapping[int, list[int]]) -> list[str]:
        """Return what is wrong with the partitions of each transaction that a reader found."""
        whole = list(range(PARTITIONS))
        return [
            *(f"{each} is lost" for each in self.committed - found.keys()),
            *(f"{each} was aborted" for each in self.aborted & found.keys()),
            *(f"{each} is in {where}" for each, where in found.items() if sorted(where) != whole),
        ]


class GroupMember:
    """The only member of a group, which commits what it has polled."""

    def __init__(self, protocol: str) -> None:
        self.protocol: Final = protocol
        self.seen = Counter[tuple[int, int]]()
        self.assignments = 0

    def run(self, bootstrap: str, stop: Event) -> None:
        """Consume until `stop`."""
        with cordwood.Consumer(
            bootstrap,
            group_id=self.protocol,
            group_protocol=self.protocol,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        ) as consumer:
            consumer.subscribe([TOPIC], on_assigned=self._count)
            while not stop.is_set():
                for record in consumer.poll(timeout_ms=_POLL_MS):
                    self.seen[record.partition, record.offset] += 1
                consumer.commit(timeout_ms=PATIENCE_S * 1000)

    def _count(self, *_: object) -> None:
        self.assignments += 1


@contextmanager
def working(
    bootstrap: str, ledger: TransactionLedger, members: list[GroupMember]
) -> Iterator[None]:
    """Run the producer and the members; raise their errors at the end."""
    stop = Event()
    with ThreadPoolExecutor() as threads:
        tasks: list[Future[None]] = [threads.submit(_write, bootstrap, ledger, stop)]
        tasks += [threads.submit(each.run, bootstrap, stop) for each in members]
        try:
            yield
        finally:
            stop.set()
    for each in tasks:
        each.result()


def _write(bootstrap: str, ledger: TransactionLedger, stop: Event) -> None:
    numbers = count(1)
    while not stop.is_set():
        with (
            suppress(CordwoodError),
            cordwood.Producer(bootstrap, transactional_id="t") as producer,
        ):
            while not stop.is_set():
                _write_one(producer, ledger, next(numbers))


def _write_one(
    producer: cordwood.Producer[_Text, _Text], ledger: TransactionLedger, number: int
) -> None:
    producer.begin()
    for each in range(PARTITIONS):
        producer.send(TOPIC, str(number), partition=each)
    producer.send_offsets({(TOPIC, 0): number}, "offsets")
    if number % _ABORTED_EACH == 0:
        producer.abort()
        ledger.add(ledger.aborted, number)
    else:
        producer.commit()
        ledger.add(ledger.committed, number)


def read_committed(bootstrap: str) -> dict[int, list[int]]:
    """Return the partitions of each transaction that consumers see.

    The coordinator writes the markers of the last one after its response, so the ends are those of
    the logs: a committed reader reaches them once all markers are there.
    """
    found = defaultdict[int, list[int]](list)
    partitions = [(TOPIC, each) for each in range(PARTITIONS)]
    with cordwood.Consumer(bootstrap, isolation_level="read_uncommitted") as consumer:
        ends = consumer.end_offsets(partitions)
    with cordwood.Consumer(bootstrap, isolation_level="read_committed") as consumer:
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        while any(consumer.position(each) < end for each, end in ends.items()):
            for record in consumer.poll(timeout_ms=_POLL_MS):
                assert record.value is not None
                found[int(record.value)].append(record.partition)
    return found
