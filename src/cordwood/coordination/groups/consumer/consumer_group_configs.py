"""Configuration of consumer groups: a group's own, within the broker's bounds.

Kafka: `GroupConfig`, `GroupConfigManager`.
"""

from collections.abc import Mapping
from typing import Final

from cordwood.coordination.groups.group_settings import GroupSettings

SESSION_TIMEOUT_MS: Final = "consumer.session.timeout.ms"
HEARTBEAT_INTERVAL_MS: Final = "consumer.heartbeat.interval.ms"
ASSIGNMENT_INTERVAL_MS: Final = "consumer.assignment.interval.ms"

_NONE: Final[Mapping[str, int]] = {}


class ConsumerGroupConfigs:
    """The settings of every group; a group without its own has those of the broker.

    All shards of a broker share one object, so that a shard that is being loaded has every change.
    """

    def __init__(self, settings: GroupSettings) -> None:
        self.settings = settings
        self._configs = dict[str, Mapping[str, int]]()

    def update(self, group_id: str, configs: Mapping[str, int]) -> None:
        """Set the whole configuration of a group, by Kafka's names; an empty one removes it."""
        if configs:
            self._configs[group_id] = dict(configs)
        else:
            self._configs.pop(group_id, None)

    def session_timeout_ms(self, group_id: str) -> int:
        """Return the time without a heartbeat after which a member is fenced."""
        own = self._own(group_id, SESSION_TIMEOUT_MS)
        if own is None:
            return self.settings.consumer_session_timeout_ms
        return _clamped(
            own,
            self.settings.consumer_min_session_timeout_ms,
            upper=self.settings.consumer_max_session_timeout_ms,
        )

    def heartbeat_interval_ms(self, group_id: str) -> int:
        """Return the interval between heartbeats that members are given."""
        own = self._own(group_id, HEARTBEAT_INTERVAL_MS)
        if own is None:
            return self.settings.consumer_heartbeat_interval_ms
        return _clamped(
            own,
            self.settings.consumer_min_heartbeat_interval_ms,
            upper=self.settings.consumer_max_heartbeat_interval_ms,
        )

    def assignment_interval_ms(self, group_id: str) -> int:
        """Return the least time between two target assignments."""
        own = self._own(group_id, ASSIGNMENT_INTERVAL_MS)
        if own is None:
            return self.settings.consumer_assignment_interval_ms
        return _clamped(
            own,
            self.settings.consumer_min_assignment_interval_ms,
            upper=self.settings.consumer_max_assignment_interval_ms,
        )

    def _own(self, group_id: str, name: str) -> int | None:
        return self._configs.get(group_id, _NONE).get(name)


def _clamped(value: int, lower: int, *, upper: int) -> int:
    return min(max(value, lower), upper)
