"""How long does a test wait for its broker?

    python -m benchmarks.micro.fixture

The time from the call of the fixture to the first Metadata response over the socket, and the time
of the broker's end. The package has been imported, and one broker has run before. Also
the cost of a week with the broker's own maintenance alone, and of a rewind to a snapshot.
Medians, since a machine that does other things as well only ever adds to some of them. To compare
two commits, compare their values in turns on one machine.
"""

from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter
from typing import Final

import cordwood
from benchmarks.figure import Bound, Figure
from cordwood.testing import Kafka, KafkaOptions

#: The design's limit from the call of the fixture to the first answer, in milliseconds.
READY_GOAL_MS: Final = 20
_BYTES_A_ROUND: Final = 8_000_000
_LEAST_ROUNDS: Final = 3


def figures(size: int) -> Iterator[Figure]:
    """Measure more often for a larger `size`."""
    rounds = max(_LEAST_ROUNDS, size // _BYTES_A_ROUND)
    _ready_and_gone()
    times = [_ready_and_gone() for _ in range(rounds)]
    yield Figure(
        name="fixture: from its call to the first answer",
        value=median(ready for ready, _ in times),
        unit="ms",
        goal=READY_GOAL_MS,
        bound=Bound.MOST,
    )
    yield Figure(name="fixture: gone again", value=median(gone for _, gone in times), unit="ms")
    kafka = Kafka.start(KafkaOptions())
    try:
        kafka.create_topic("orders")
        before = kafka.snapshot()
        week = [_ms(lambda: kafka.clock.advance(days=7)) for _ in range(_LEAST_ROUNDS)]
        back = [_ms(lambda: kafka.rewind(before)) for _ in range(_LEAST_ROUNDS)]
    finally:
        kafka.close()
    yield Figure(name="fixture: a week passes", value=median(week), unit="ms")
    yield Figure(name="fixture: back at a snapshot", value=median(back), unit="ms")


def _ready_and_gone() -> tuple[float, float]:
    """Return the milliseconds until the first answer, and those of the end."""
    start = perf_counter()
    kafka = Kafka.start(KafkaOptions())
    with cordwood.Admin(kafka.bootstrap) as admin:
        admin.list_topics()
        ready_ms = (perf_counter() - start) * 1000
    return ready_ms, _ms(kafka.close)


def _ms(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return (perf_counter() - start) * 1000


if __name__ == "__main__":
    for figure in figures(256 * 1024 * 1024):
        print(figure)
