"""Channels to the other brokers of the image, for one purpose (Kafka: `InterBrokerSendThread`).

A broker handles the requests of a connection one after the other. So each purpose has channels of
its own: a request that waits for replication does not hold up another one.
"""

from typing import Final

from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import NO_LEADER, ClusterImage
from cordwood.cluster.channels.broker_channel import BrokerChannel, BrokerChannels
from cordwood.core.address import Address
from cordwood.core.errors import BrokerNotAvailableError, NotControllerError


class PeerBrokers:
    """Channels by broker id; a broker that leaves, or moves, loses its channel."""

    def __init__(
        self, metadata: MetadataCache, channels: BrokerChannels, *, listener: str, client_id: str
    ) -> None:
        self._metadata = metadata
        self._channels = channels
        self._listener: Final = listener
        self._client_id: Final = client_id
        self._open = dict[int, tuple[Address, BrokerChannel]]()
        metadata.on_publish(self._drop_outdated)

    def channel(self, node_id: int) -> BrokerChannel:
        """Return the channel to a broker; BrokerNotAvailableError if it is not in the image."""
        address = _address(self._metadata.image, node_id, self._listener)
        if address is None:
            raise BrokerNotAvailableError(
                f"broker {node_id} is not registered with the listener {self._listener}"
            )
        known = self._open.get(node_id)
        if known is not None and known[0] == address:
            return known[1]
        if known is not None:
            known[1].close()
        opened = self._channels.open(address, client_id=self._client_id)
        self._open[node_id] = address, opened
        return opened

    def controller(self) -> BrokerChannel:
        """Return the channel to the controller; NotControllerError if there is none."""
        controller_id = self._metadata.image.controller_id
        if controller_id == NO_LEADER:
            raise NotControllerError("no broker is the controller now")
        return self.channel(controller_id)

    def close(self) -> None:
        """Close all channels."""
        opened, self._open = self._open, {}
        for _, channel in opened.values():
            channel.close()

    def _drop_outdated(self, image: ClusterImage) -> None:
        for node_id, (address, channel) in tuple(self._open.items()):
            if _address(image, node_id, self._listener) != address:
                del self._open[node_id]
                channel.close()


def _address(image: ClusterImage, node_id: int, listener: str) -> Address | None:
    broker = image.brokers.get(node_id)
    endpoint = None if broker is None else broker.endpoints.get(listener)
    return None if endpoint is None else Address(endpoint.host, endpoint.port)
