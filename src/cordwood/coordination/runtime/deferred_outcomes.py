"""Outcomes that wait until the records before them count (Kafka: `DeferredEventQueue`).

Appends may count in any order, or fail; their outcomes are released in the order of the appends.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from cordwood.coordination.outcome import Outcome


@dataclass(slots=True, eq=False)
class DeferredAppend:
    """An append that has been written, with the outcomes that wait for it."""

    outcomes: list[Outcome]
    counts: bool = False


class DeferredOutcomes:
    """The outcomes of one shard; `release` is called once for each."""

    def __init__(self, release: Callable[[Outcome], object]) -> None:
        self._release = release
        self._appends = deque[DeferredAppend]()

    def __len__(self) -> int:
        return len(self._appends)

    def add(self, outcome: Outcome) -> None:
        """Release an outcome once all appends so far count; now if they do."""
        if self._appends:
            self._appends[-1].outcomes.append(outcome)
        else:
            self._release(outcome)

    def begin(self, outcome: Outcome) -> DeferredAppend:
        """Add an outcome whose append does not count yet."""
        append = DeferredAppend([outcome])
        self._appends.append(append)
        return append

    def complete(self, append: DeferredAppend) -> None:
        """Note that an append counts; release the outcomes up to the first one that does not."""
        append.counts = True
        while self._appends and self._appends[0].counts:
            for each in self._appends.popleft().outcomes:
                self._release(each)
