"""Ledger of sent and acknowledged records, compared with a log: complete, in order, without
duplicates.

Each record contains its number, which counts from 0 in its partition. A record that was given up
may be in the log or not. An acknowledged record must be in the log, at the acknowledged offset.
"""

import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from cordwood.core.types import TopicPartition

NUMBER_LENGTH: Final = 8
UNKNOWN_OFFSET: Final = -1


class Found(NamedTuple):
    """A record found in a log."""

    offset: int
    number: int


class Acknowledgement(NamedTuple):
    """The acknowledged offset of a record, UNKNOWN_OFFSET if the client does not have it."""

    number: int
    offset: int


@dataclass
class Ledger:
    """The records of one partition. The producer's thread calls `record_outcome`."""

    sent: int = 0
    acknowledged: list[Acknowledgement] = field(default_factory=list)
    given_up: list[int] = field(default_factory=list)

    def next_value(self, chance: random.Random) -> bytes:
        """Return the value of the next record, of random size."""
        number, self.sent = self.sent, self.sent + 1
        return number.to_bytes(NUMBER_LENGTH, "big") + bytes(chance.randint(0, 1500))

    def record_outcome(self, number: int, offset: int | None) -> None:
        """Store the outcome of a record: its offset, or None if it was given up."""
        if offset is None:
            self.given_up.append(number)
        else:
            self.acknowledged.append(Acknowledgement(number, offset))

    def compare(self, found: Sequence[Found]) -> list[str]:
        """Return the differences between this ledger and the records of a log."""
        numbers = [each.number for each in found]
        places = {each.number: each.offset for each in found}
        missing = [each.number for each in self.acknowledged if each.number not in places]
        moved = [
            each
            for each in self.acknowledged
            if each.offset != UNKNOWN_OFFSET and places.get(each.number, each.offset) != each.offset
        ]
        faults = []
        if missing:
            first = missing[0]
            faults.append(f"{len(missing)} acknowledged records are missing, the first {first}")
        if len(places) < len(numbers):
            faults.append(f"{len(numbers) - len(places)} records are duplicates")
        if numbers != sorted(numbers):
            faults.append("records are out of order")
        if moved:
            faults.append(f"{len(moved)} records have another offset, the first {moved[0]}")
        return faults


class Ledgers:
    """The ledgers of partitions, with a limit of records in flight."""

    def __init__(self, partitions: Sequence[TopicPartition], *, window: int) -> None:
        self.of = {partition: Ledger() for partition in partitions}
        self._room = threading.Semaphore(window)
        self._moved = threading.Condition()
        self._acknowledged = 0

    @property
    def acknowledged(self) -> int:
        return self._acknowledged

    def begin(self) -> None:
        """Wait until another record may be in flight."""
        self._room.acquire()

    def record_outcome(self, partition: TopicPartition, number: int, offset: int | None) -> None:
        """Store the outcome of a record."""
        with self._moved:
            self.of[partition].record_outcome(number, offset)
            self._acknowledged += offset is not None
            self._moved.notify_all()
        self._room.release()

    def release(self) -> None:
        """Wake the producer that waits in `begin`, so that it can stop."""
        self._room.release()

    def wait_for(self, acknowledged: int, patience_s: float) -> bool:
        """Wait for a number of acknowledged records; return False on a timeout."""
        with self._moved:
            return self._moved.wait_for(lambda: self._acknowledged >= acknowledged, patience_s)
