"""How many bytes the logs of each topic have: measured a few logs at a time, when somebody asks.

Nothing is counted while records come and go, so figures are as old as the last look.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from cordwood.storage.manager import LogManager

if TYPE_CHECKING:
    from cordwood.observability.metrics import Readings

_LOGS_A_STEP: Final = 5


class LogSizes:
    """What was measured last, by topic."""

    def __init__(self, manager: LogManager) -> None:
        self._manager = manager
        self.by_topic: Readings = {}

    def measure(self) -> Iterator[str]:
        """Measure again; each step is a little work, and comes to no text."""
        sizes = Counter[tuple[str, ...]]()
        logs = iter([*self._manager.logs.values()])
        while some := [*islice(logs, _LOGS_A_STEP)]:
            for log in some:
                sizes[log.partition.topic,] += log.size
            yield ""
        self.by_topic = sizes
