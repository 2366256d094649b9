"""Limits of a socket server, and its open connections by them (Kafka: `ConnectionQuotas`).

While the server or a listener is full, new connections wait in the operating system's backlog. A
connection from an address that has reached its limit is closed at once.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from cordwood.core.binary import INT32_MAX

DEFAULT_QUEUED_BYTES: Final = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketServerSettings:
    """The settings of a socket server; a buffer size of -1 leaves the system's autotuning on.

    `capacity` is the number of connections for which the process has descriptors.
    """

    request_max_bytes: int = 104_857_600
    queued_max_bytes: int = DEFAULT_QUEUED_BYTES
    max_connections: int = INT32_MAX
    capacity: int = INT32_MAX
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


class ConnectionQuotas:
    """Counts of open connections. `settings` is called each time, since they may change."""

    __slots__ = ("_of_address", "_of_listener", "_settings", "total")

    def __init__(self, settings: Callable[[], SocketServerSettings]) -> None:
        self._settings = settings
        self.total = 0
        self._of_listener: Counter[str] = Counter()
        self._of_address: Counter[str] = Counter()

    @property
    def is_at_capacity(self) -> bool:
        """Whether the process has no descriptors for another connection."""
        return self.total >= self._settings().capacity

    def has_room(self, listener: str) -> bool:
        """Return whether a listener may accept another connection."""
        settings = self._settings()
        of_listener = settings.max_connections_of_listener.get(listener, INT32_MAX)
        total = min(settings.max_connections, settings.capacity)
        return self.total < total and self._of_listener[listener] < of_listener

    def add(self, listener: str, address: str) -> bool:
        """Count an accepted connection; return False if its address has reached its limit."""
        settings = self._settings()
        limit = settings.max_connections_per_ip_overrides.get(
            address, settings.max_connections_per_ip
        )
        if self._of_address[address] >= limit:
            return False
        self.total += 1
        self._of_listener[listener] += 1
        self._of_address[address] += 1
        return True

    def by_listener(self) -> dict[tuple[str, ...], float]:
        """Return the number of connections by listener, as metrics labels."""
        return {(listener,): count for listener, count in self._of_listener.items()}

    def remove(self, listener: str, address: str) -> None:
        """Remove a connection from the counts."""
        self.total -= 1
        self._of_listener[listener] -= 1
        self._of_address[address] -= 1
        if not self._of_address[address]:
            del self._of_address[address]
