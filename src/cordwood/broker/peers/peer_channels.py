"""Port to the channels of one purpose to the other brokers (Kafka: `InterBrokerSendThread`).

A node without a cluster has no peers; it uses the same code as a broker of a cluster.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from cordwood.cluster.channels.broker_channel import BrokerChannel
from cordwood.core.errors import BrokerNotAvailableError


class PeerChannels(Protocol):
    """Channels by broker id; `PeerBrokers` has those of a cluster."""

    def channel(self, node_id: int) -> BrokerChannel:
        """Return the channel to a broker; BrokerNotAvailableError if it is not registered."""

    def close(self) -> None:
        """Close all channels."""


OpenPeers: TypeAlias = Callable[[str], PeerChannels]
"""Returns channels for a purpose, which is a part of their client id: `broker-1-PURPOSE`."""


class NoPeers:
    """The peers of a node without a cluster."""

    def channel(self, node_id: int) -> BrokerChannel:
        """Raise BrokerNotAvailableError."""
        raise BrokerNotAvailableError(f"this node has no channel to broker {node_id}")

    def close(self) -> None:
        """Do nothing: there are no channels."""


def no_peers(_: str) -> PeerChannels:
    """Return no peers, for any purpose."""
    return NoPeers()
