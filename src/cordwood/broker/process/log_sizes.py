"""Sizes of all logs by topic, measured on request in small steps.

Appends and deletions do not update the sizes: they are those of the last measurement.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from cordwood.storage.manager.log_manager import LogManager

if TYPE_CHECKING:
    from cordwood.observability.metrics import Readings

_LOGS_A_STEP: Final = 5


class LogSizes:
    """The last measured sizes, by topic."""

    def __init__(self, manager: LogManager) -> None:
        self._manager = manager
        self.by_topic: Readings = {}

    def measure(self) -> Iterator[str]:
        """Measure all logs; each step measures a few of them and yields an empty text.

        The metrics page has this iterator in front, so that its pages are made in the same steps.
        """
        sizes = Counter[tuple[str, ...]]()
        logs = iter([*self._manager.logs.values()])
        while some := [*islice(logs, _LOGS_A_STEP)]:
            for log in some:
                sizes[log.partition.topic,] += log.size
            yield ""
        self.by_topic = sizes
