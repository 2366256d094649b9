"""How internal topics are made when they are first needed: by settings of their own.

None has more replicas than there are brokers, so that one broker is enough for them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from cordwood.broker.configs import BrokerConfigs
from cordwood.broker.topic_rules import NewTopic
from cordwood.core.settings import text_of


class _Settings(NamedTuple):
    """The broker's settings that say how a topic is made; `fixed` is what none of them says."""

    partitions: str
    replication_factor: str
    configs: Mapping[str, str]
    fixed: Mapping[str, str]


_SETTINGS: Final = MappingProxyType(
    {
        "__consumer_offsets": _Settings(
            "offsets.topic.num.partitions",
            "offsets.topic.replication.factor",
            {"segment.bytes": "offsets.topic.segment.bytes"},
            {"cleanup.policy": "compact", "compression.type": "producer"},
        ),
        "__transaction_state": _Settings(
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


def as_settings_say(name: str, configs: BrokerConfigs, *, brokers: int) -> NewTopic:
    """Return how a topic is made of which nobody says more than its name."""
    found = _SETTINGS.get(name)
    if found is None:
        return NewTopic(name=name)
    said = {key: text_of(configs.value(setting)) for key, setting in found.configs.items()}
    return NewTopic(
        name=name,
        partitions=configs.integer(found.partitions),
        replication_factor=min(configs.integer(found.replication_factor), brokers),
        configs=tuple({**found.fixed, **said}.items()),
    )
