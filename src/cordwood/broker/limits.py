"""What a server allows, and the connections counted against it.

Where the server as a whole or a listener is full, nobody is accepted until a connection ends: those
who come wait in the operating system's queue. An address that has its share is turned away.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from cordwood.core.binary import INT32_MAX

DEFAULT_QUEUED_BYTES: Final = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The settings of a server; buffers of -1 are left to the system, which fits them to a line."""

    request_max_bytes: int = 104_857_600
    queued_max_bytes: int = DEFAULT_QUEUED_BYTES
    max_connections: int = INT32_MAX
    max_connections_of_listener: Mapping[str, int] = field(
        default_factory=lambda: MappingProxyType({})
    )
    max_connections_per_ip: int = INT32_MAX
    max_connections_per_ip_overrides: Mapping[str, int] = field(
        default_factory=lambda: MappingProxyType({})
    )
    connections_max_idle_ms: float = 600_000
    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1


class ConnectionLimits:
    """Counts of open connections. `settings` is asked each time, since they may change."""

    __slots__ = ("_of_address", "_of_listener", "_settings", "total")

    def __init__(self, settings: Callable[[], ServerSettings]) -> None:
        self._settings = settings
        self.total = 0
        self._of_listener: Counter[str] = Counter()
        self._of_address: Counter[str] = Counter()

    def has_room(self, listener: str) -> bool:
        """Say whether a listener may accept one more."""
        settings = self._settings()
        of_listener = settings.max_connections_of_listener.get(listener, INT32_MAX)
        return self.total < settings.max_connections and self._of_listener[listener] < of_listener

    def add(self, listener: str, address: str) -> bool:
        """Count one that was accepted; else say that its address has its share."""
        settings = self._settings()
        share = settings.max_connections_per_ip_overrides.get(
            address, settings.max_connections_per_ip
        )
        if self._of_address[address] >= share:
            return False
        self.total += 1
        self._of_listener[listener] += 1
        self._of_address[address] += 1
        return True

    def by_listener(self) -> dict[tuple[str, ...], float]:
        """Return how many there are, as metrics are labelled."""
        return {(listener,): count for listener, count in self._of_listener.items()}

    def remove(self, listener: str, address: str) -> None:
        """Count one that was added no more."""
        self.total -= 1
        self._of_listener[listener] -= 1
        self._of_address[address] -= 1
        if not self._of_address[address]:
            del self._of_address[address]
