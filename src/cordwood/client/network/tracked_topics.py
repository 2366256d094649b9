"""Topics whose metadata a client refreshes (Java: `ProducerMetadata`, `ConsumerMetadata`).

A topic is tracked from its first use until it has been idle for `metadata.max.idle.ms`. A client
that tracked it longer would keep its metadata, and could create it again after its deletion.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from cordwood.client.network.runtime import ClientRuntime

TopicsInUse: TypeAlias = Callable[[], Iterable[str]]


class TrackedTopics:
    """The tracked topics; `in_use` returns those that the client uses without a call."""

    def __init__(self, runtime: ClientRuntime, max_idle_ms: float) -> None:
        self.in_use: TopicsInUse = tuple
        self._runtime = runtime
        self._max_idle_ms = max_idle_ms
        self._used_ms: dict[str, float] = {}

    def __contains__(self, topic: object) -> bool:
        return topic in self._used_ms

    def use(self, topic: str) -> None:
        """Track a topic from now on."""
        self._used_ms[topic] = self._runtime.now_ms()

    def forget(self, topic: str) -> None:
        """Stop tracking a topic."""
        self._used_ms.pop(topic, None)

    def drop_idle(self) -> list[str]:
        """Stop tracking idle topics; return the others in order."""
        now_ms = self._runtime.now_ms()
        self._used_ms |= dict.fromkeys(self.in_use(), now_ms)
        oldest_ms = now_ms - self._max_idle_ms
        self._used_ms = {name: used for name, used in self._used_ms.items() if used >= oldest_ms}
        return sorted(self._used_ms)
