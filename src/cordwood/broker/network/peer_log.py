"""Log of events that clients cause: one line a second for each event and address.

A client must not fill the log, nor hide the lines of others. The next line of an address has the
number of lines that were left out; after a second without one, a line of its own has it. The number
of addresses is bounded too: those beyond it share one line.
"""

import logging
from dataclasses import dataclass
from typing import Final

from cordwood.core.ports import Clock
from cordwood.observability.log_lines import FieldValue
from cordwood.observability.logs import fields

INTERVAL_MS: Final = 1_000
MAX_ADDRESSES: Final = 1_000
#: Stands for every address beyond MAX_ADDRESSES.
OTHERS: Final = "others"


@dataclass(slots=True)
class _Recent:
    """The time of the last line about an event and an address, and the lines left out since."""

    at_ms: float
    left_out: int = 0


class PeerLog:
    """Writes the events of clients to a logger; `sweep` is called every INTERVAL_MS."""

    def __init__(self, logger: logging.Logger, clock: Clock) -> None:
        self._logger = logger
        self._clock = clock
        self._recent: dict[tuple[str, str], _Recent] = {}

    def write(
        self,
        level: int,
        event: str,
        *,
        host: str,
        values: dict[str, FieldValue],
        error: Exception | None = None,
    ) -> None:
        """Write an event, with the stack of `error`, unless its address has had its line."""
        key = (event, host)
        if key not in self._recent and len(self._recent) >= MAX_ADDRESSES:
            key = (event, OTHERS)
        now_ms, recent = self._clock.monotonic_ms(), self._recent.get(key)
        if recent is not None and now_ms - recent.at_ms < INTERVAL_MS:
            recent.left_out += 1
            return
        if recent is not None and recent.left_out:
            values = {**values, "left_out": recent.left_out}
        self._recent[key] = _Recent(now_ms)
        self._logger.log(level, event, exc_info=error, extra=fields(**values))

    def sweep(self) -> None:
        """Report what was left out of addresses that are silent now, and forget the others."""
        now_ms = self._clock.monotonic_ms()
        for (event, host), recent in tuple(self._recent.items()):
            if now_ms - recent.at_ms < INTERVAL_MS:
                continue
            del self._recent[event, host]
            if recent.left_out:
                self._logger.warning(
                    "lines left out",
                    extra=fields(about=event, peer=host, left_out=recent.left_out),
                )
