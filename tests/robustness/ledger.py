"""What was sent, what was acknowledged, and whether a log has it: all of it, in order, once.

Each record says where it belongs by its number, which counts per partition from 0. Records that
were given up may be in the log or not; what was acknowledged has to be, where the broker said.
"""

import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from cordwood.core.types import TopicPartition

NUMBER_LENGTH: Final = 8
UNTOLD: Final = -1


class Found(NamedTuple):
    """A record in a log."""

    offset: int
    number: int


class Acknowledgement(NamedTuple):
    """Where a record is, as the broker said; UNTOLD where it did not."""

    number: int
    offset: int


@dataclass
class Ledger:
    """The records of one partition. `told` is called by the producer's thread."""

    sent: int = 0
    acknowledged: list[Acknowledgement] = field(default_factory=list)
    given_up: list[int] = field(default_factory=list)

    def next_value(self, chance: random.Random) -> bytes:
        """Make the next record, of any size."""
        number, self.sent = self.sent, self.sent + 1
        return number.to_bytes(NUMBER_LENGTH, "big") + bytes(chance.randint(0, 1500))

    def told(self, number: int, offset: int | None) -> None:
        """Hear what became of a record; None: it was given up."""
        if offset is None:
            self.given_up.append(number)
        else:
            self.acknowledged.append(Acknowledgement(number, offset))

    def complaints(self, found: Sequence[Found]) -> list[str]:
        """Return what is wrong with what a log has."""
        numbers = [each.number for each in found]
        places = {each.number: each.offset for each in found}
        missing = [each.number for each in self.acknowledged if each.number not in places]
        moved = [
            each
            for each in self.acknowledged
            if each.offset != UNTOLD and places.get(each.number, each.offset) != each.offset
        ]
        said = []
        if missing:
            said.append(f"{len(missing)} acknowledged records are missing, the first {missing[0]}")
        if len(places) < len(numbers):
            said.append(f"{len(numbers) - len(places)} records are there more than once")
        if numbers != sorted(numbers):
            said.append("records are out of order")
        if moved:
            said.append(f"{len(moved)} records are elsewhere than was told, the first {moved[0]}")
        return said


class Ledgers:
    """The ledgers of partitions, and how many records are on their way."""

    def __init__(self, partitions: Sequence[TopicPartition], *, window: int) -> None:
        self.of = {partition: Ledger() for partition in partitions}
        self._room = threading.Semaphore(window)
        self._moved = threading.Condition()
        self._acknowledged = 0

    @property
    def acknowledged(self) -> int:
        return self._acknowledged

    def begin(self) -> None:
        """Wait until there is room for one more on its way."""
        self._room.acquire()

    def told(self, partition: TopicPartition, number: int, offset: int | None) -> None:
        """Hear what became of a record."""
        with self._moved:
            self.of[partition].told(number, offset)
            self._acknowledged += offset is not None
            self._moved.notify_all()
        self._room.release()

    def release(self) -> None:
        """Let who waits for room look up: there will be no more."""
        self._room.release()

    def wait_for(self, acknowledged: int, patience_s: float) -> bool:
        """Wait until so many have been acknowledged; whether they have."""
        with self._moved:
            return self._moved.wait_for(lambda: self._acknowledged >= acknowledged, patience_s)
