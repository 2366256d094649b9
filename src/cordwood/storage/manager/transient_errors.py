"""Messages about disk errors that may pass: no space, or no free descriptor.

Each of them rejects one request, so there may be thousands a second. An operator gets one message
an interval for each log directory and kind, with the number of errors since the last one.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final

from cordwood.core.ports import Clock
from cordwood.storage.files.disk_errors import NO_SPACE, TRANSIENT

INTERVAL_MS: Final = 10_000
SPACE: Final = "space"
DESCRIPTORS: Final = "descriptors"
_REMEDIES: Final = {
    SPACE: "free disk space, or lower the retention of its topics",
    DESCRIPTORS: "raise the descriptor limit of the process",
}


class TransientErrors:
    """Counts by log directory and kind; `on_event` receives the messages."""

    def __init__(self, clock: Clock, on_event: Callable[[str], object]) -> None:
        self.counts: Counter[tuple[str, ...]] = Counter()
        self._clock = clock
        self._on_event = on_event
        self._reported: dict[tuple[str, ...], tuple[float, int]] = {}

    def add(self, directory: str, error: BaseException) -> None:
        """Count an error if it is one that may pass, and report it if a message is due."""
        if not isinstance(error, OSError) or error.errno not in TRANSIENT:
            return
        kind = SPACE if error.errno in NO_SPACE else DESCRIPTORS
        key = (directory, kind)
        self.counts[key] += 1
        now_ms = self._clock.monotonic_ms()
        at_ms, count = self._reported.get(key, (now_ms - INTERVAL_MS, 0))
        if now_ms - at_ms >= INTERVAL_MS:
            self._reported[key] = (now_ms, self.counts[key])
            number = self.counts[key] - count
            self._on_event(
                f"{directory}: {number} requests rejected for want of {kind}: {error};"
                f" {_REMEDIES[kind]}"
            )
