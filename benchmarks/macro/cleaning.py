"""How long does a produce take while a log is cleaned, next to a broker that cleans nothing?

    python -m benchmarks.macro.cleaning

A producer sends one record every few milliseconds to a topic of its own, each after the previous
acknowledgement. In the second half the cleaner's process compacts another log at full speed.
The figure is the 99th percentile, on the wall, as a multiple of the idle one's: client, broker and
cleaner share the machine.
"""

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Final

import cordwood
from benchmarks.figure import Bound, Figure
from benchmarks.keyed_log import KeyedLog, write
from tests.serving import CORDWOOD, Serving, ended_with

SETTINGS: Final = {
    "log.cleaner.threads": "0",
    "log.cleaner.backoff.ms": "50",
}
#: Adopted with the log directory, without a known configuration: the broker does not clean it yet.
ADOPTED: Final = "stock"
PROBE: Final = "probe"
EVERY_SECONDS: Final = 0.004
#: At most one and a half gigabytes are cleaned, of records of 125 bytes in ten times fewer keys.
_TIMES: Final = 6
_RECORD_BYTES: Final = 125
_RECORDS_A_KEY: Final = 10
_SEGMENT_BYTES: Final = 128 << 20
GOAL: Final = 2.0


def figures(size: int = 256 << 20) -> list[Figure]:
    """Measure while a log of a few times `size` bytes is cleaned."""
    records = size * _TIMES // _RECORD_BYTES
    with _served(records, segment_bytes=min(_SEGMENT_BYTES, size)) as broker:
        idle = _p99(_produce(broker.address, lambda done: done >= 1 + size // (256 << 10)))
        _let_clean(broker.address)
        busy = _p99(_produce(broker.address, lambda _: broker.told("log cleaned") > 0))
    return [
        Figure(name="produce, p99, nothing to clean", value=idle * 1e3, unit="ms"),
        Figure(
            name="produce, p99, a log being cleaned",
            value=busy / idle,
            unit="times as long",
            peer="idle",
            peer_value=idle * 1e3,
            goal=GOAL,
            bound=Bound.MOST,
        ),
    ]


@contextmanager
def _served(records: int, *, segment_bytes: int) -> Iterator[Serving]:
    """A broker with a compacted log and an empty one."""
    with tempfile.TemporaryDirectory() as folder:
        log = KeyedLog(records, max(1, records // _RECORDS_A_KEY))
        write(log, Path(folder, "data", f"{ADOPTED}-0"), segment_bytes=segment_bytes)
        with ended_with(Serving(Path(folder), SETTINGS, program=CORDWOOD)) as broker:
            broker.start()
            os.sync()  # or the idle half would wait for what has just been written
            with cordwood.Admin(broker.address) as admin:
                admin.create_topic(PROBE, partitions=1, configs={"cleanup.policy": "delete"})
            yield broker


def _let_clean(bootstrap: str) -> None:
    with cordwood.Admin(bootstrap) as admin:
        admin.alter_configs(("topic", ADOPTED), change={"cleanup.policy": "compact"})
        admin.alter_configs(("broker", ""), change={"log.cleaner.threads": "1"})


def _produce(bootstrap: str, is_over: Callable[[int], bool]) -> list[float]:
    """Send record after record until it is over; return the seconds that each of them took."""
    took, pause = list[float](), threading.Event()
    with cordwood.Producer(bootstrap, linger_ms=0) as producer:
        producer.send(PROBE, bytes(100)).result()
        while not took or not is_over(len(took)):
            pause.wait(EVERY_SECONDS)
            began = perf_counter()
            producer.send(PROBE, bytes(100)).result()
            took.append(perf_counter() - began)
    return took


def _p99(seconds: list[float]) -> float:
    return sorted(seconds)[len(seconds) * 99 // 100]


if __name__ == "__main__":
    for figure in figures():
        print(figure)
