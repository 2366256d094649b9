"""Creation settings of internal topics (Kafka: `AutoTopicCreationManager`).

Internal topics are created when they are first needed. The replication factor of an embedded broker
is at most the number of brokers, so that one broker is enough. A cluster waits for the configured
number of brokers: a topic that was created before they are registered would keep too few replicas.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.settings import text_of


class _InternalTopicKeys(NamedTuple):
    """The broker settings that a topic is created with, and its `fixed` configurations."""

    partitions: str
    replication_factor: str
    configs: Mapping[str, str]
    fixed: Mapping[str, str]


_SETTINGS: Final = MappingProxyType(
    {
        "__consumer_offsets": _InternalTopicKeys(
            "offsets.topic.num.partitions",
            "offsets.topic.replication.factor",
            {"segment.bytes": "offsets.topic.segment.bytes"},
            {"cleanup.policy": "compact", "compression.type": "producer"},
        ),
        "__transaction_state": _InternalTopicKeys(
            "transaction.state.log.num.partitions",
            "transaction.state.log.replication.factor",
            {
                "segment.bytes": "transaction.state.log.segment.bytes",
                "min.insync.replicas": "transaction.state.log.min.isr",
            },
            {
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                "unclean.leader.election.enable": "false",
            },
        ),
    }
)


def default_topic(name: str, configs: BrokerConfigs, *, most_replicas: int | None) -> NewTopic:
    """Return the creation parameters of a topic that is requested by name only.

    `most_replicas` limits the replication factor of an internal topic, unless it is None.
    """
    found = _SETTINGS.get(name)
    if found is None:
        return NewTopic(name=name)
    texts = {key: text_of(configs.value(setting)) for key, setting in found.configs.items()}
    factor = configs.integer(found.replication_factor)
    return NewTopic(
        name=name,
        partitions=configs.integer(found.partitions),
        replication_factor=factor if most_replicas is None else min(factor, most_replicas),
        configs=tuple({**found.fixed, **texts}.items()),
    )
