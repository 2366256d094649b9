"""Names of a sink: its group, and the transactional ids of its driver and its tasks.

    group of the record    cordwood-5a0e…
    driver                 cordwood-5a0e…-driver
    task                   cordwood-5a0e…-4711.3-12     incarnation, number

The incarnation is the identity (producer id, epoch) that the driver's process got when it fenced
its predecessors for the first time, so no other process has it. The number is Spark's task attempt
id of the attempt that created the transactional id: unique within one driver, so that no two
processes use one id (`transactional_ids`).
"""

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from cordwood.core.errors import SettingError

#: Kafka has no limit for groups and transactional ids; a transactional id is longer than the name.
_MOST_CHARACTERS: Final = 200


class Incarnation(NamedTuple):
    """The identity with which a driver's process has fenced its predecessors first."""

    producer_id: int
    epoch: int


class TaskName(NamedTuple):
    """The parts of a task's transactional id."""

    incarnation: Incarnation
    number: int


@dataclass(frozen=True, slots=True)
class SinkNames:
    """All names of one sink."""

    sink: str

    def __post_init__(self) -> None:
        if not self.sink or len(self.sink) > _MOST_CHARACTERS:
            raise SettingError(
                f"the name of the sink has {len(self.sink)} characters",
                key="transactionalIdPrefix",
                remedy=f"let transactionalIdPrefix, with jobId, have 1 to {_MOST_CHARACTERS}"
                " characters",
            )

    @property
    def group(self) -> str:
        """The group whose committed offset is the intent record."""
        return self.sink

    @property
    def driver(self) -> str:
        """The transactional id of the driver."""
        return f"{self.sink}-driver"

    def task(self, incarnation: Incarnation, number: int) -> str:
        """Return the transactional id of a task."""
        return f"{self.sink}-{incarnation.producer_id}.{incarnation.epoch}-{number}"

    def parse_task(self, transactional_id: str) -> TaskName | None:
        """Return the parts of a task's id; None for any other id, also of another sink.

        The last two parts have a fixed form, so the id of a sink whose name begins with this one's
        is never taken for an id of this one.
        """
        pattern = rf"{re.escape(self.sink)}-(\d+)\.(\d+)-(\d+)"
        found = re.fullmatch(pattern, transactional_id, re.ASCII)
        if found is None:
            return None
        producer_id, epoch, number = map(int, found.groups())
        return TaskName(Incarnation(producer_id, epoch), number)
