"""Latencies in a file: pairs of floats, the due time in seconds and the delay in milliseconds.

The times are of CLOCK_MONOTONIC, which all processes of a machine share. An event that was due and
late counts for itself, however many others were late with it: a stall of one second is two hundred
late events of a 5 ms interval and not one.
"""

from array import array
from pathlib import Path
from typing import Final, NamedTuple

#: The number of events that are written at a time.
_AT_ONCE: Final = 256


class Latencies(NamedTuple):
    """The distribution of a part of a file, in milliseconds."""

    p50: float
    p99: float
    p999: float
    most: float


class LatencyWriter:
    """Appends events to a file."""

    def __init__(self, path: str) -> None:
        self._file = Path(path).open("ab", buffering=0)  # noqa: SIM115  # open while the process runs
        self._events = array("d")

    def add(self, due_s: float, late_ms: float) -> None:
        """Add an event; a full buffer is written."""
        self._events.extend((due_s, late_ms))
        if len(self._events) >= 2 * _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write the buffer."""
        self._file.write(self._events.tobytes())
        del self._events[:]

    def close(self) -> None:
        """Write the buffer and close the file."""
        self.flush()
        self._file.close()


def latencies(path: Path, start_s: float, end_s: float) -> Latencies:
    """Return the distribution of the events that were due between two times."""
    values = array("d", path.read_bytes())
    pairs = zip(values[::2], values[1::2], strict=True)
    found = sorted(late for due, late in pairs if start_s <= due < end_s)
    if not found:
        raise ValueError(f"{path}: no event between {start_s} and {end_s}")
    p50, p99, p999 = (found[int(len(found) * share)] for share in (0.5, 0.99, 0.999))
    return Latencies(p50, p99, p999, found[-1])


def is_written_to(path: Path, due_s: float) -> bool:
    """Return whether the file has an event that was due at this time or later."""
    values = array("d", path.read_bytes())
    return len(values) > 0 and values[-2] >= due_s
