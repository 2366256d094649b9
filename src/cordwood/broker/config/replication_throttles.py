"""Throttles of this broker's replicas, kept current with the configuration.

Kafka: `TopicConfigHandler.updateThrottledList`, `BrokerConfigHandler`, `QuotaFactory`. The limits
are those of the broker, and the lists of replicas those of the topics; `cordwood cluster reassign
--throttle` sets both.
"""

from typing import Final

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_resources import topic_resource
from cordwood.cluster.partition.replication_quota_manager import (
    ALL_PARTITIONS,
    ReplicationQuotaManager,
)
from cordwood.core.ports import Clock

_LEADER: Final = "leader.replication.throttled"
_FOLLOWER: Final = "follower.replication.throttled"
_LOG_DIRS: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
_ALL: Final = "*"


class ReplicationThrottles:
    """The limits of one broker: as leader, as follower, and between its log directories."""

    def __init__(self, configs: BrokerConfigs, clock: Clock) -> None:
        self._configs = configs
        self.leader: Final = _manager(configs, clock, "replication")
        self.follower: Final = _manager(configs, clock, "replication")
        self.log_dirs: Final = _manager(configs, clock, "alter.log.dirs.replication")
        configs.on_change((f"{_LEADER}.rate", f"{_FOLLOWER}.rate", _LOG_DIRS), self._use_limits)
        configs.on_topic_change(self._use_lists)
        self._use_limits()

    def _use_limits(self) -> None:
        self.leader.limit = self._configs.integer(f"{_LEADER}.rate")
        self.follower.limit = self._configs.integer(f"{_FOLLOWER}.rate")
        self.log_dirs.limit = self._configs.integer(_LOG_DIRS)

    def _use_lists(self, topic: str | None) -> None:
        """Use the lists of a topic; those of a broker do not exist."""
        if topic is None:
            return
        texts = self._configs.texts(topic_resource(topic))
        for name, manager in ((_LEADER, self.leader), (_FOLLOWER, self.follower)):
            text = texts.get(f"{name}.replicas", "").strip()
            if text:
                manager.throttle(topic, listed_partitions(text, node_id=self._configs.node_id))
            else:
                manager.remove_throttle(topic)


def listed_partitions(text: str, *, node_id: int) -> frozenset[int] | None:
    """Return the partitions that a list has for this broker (Kafka: `parseThrottledPartitions`)."""
    if text.strip() == _ALL:
        return ALL_PARTITIONS
    pairs = [pair.strip().split(":") for pair in text.split(",") if pair.strip()]
    return frozenset(int(partition) for partition, broker in pairs if int(broker) == node_id)


def _manager(configs: BrokerConfigs, clock: Clock, prefix: str) -> ReplicationQuotaManager:
    return ReplicationQuotaManager(
        clock.monotonic_ms,
        windows=configs.integer(f"{prefix}.quota.window.num"),
        window_ms=1_000 * configs.integer(f"{prefix}.quota.window.size.seconds"),
    )
