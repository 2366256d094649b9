"""Tests of the channels to the brokers of an image."""

from dataclasses import replace

import pytest

from cordwood.broker.config.listeners import ListenerEndpoint
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import BrokerImage
from cordwood.broker.peers.peer_brokers import PeerBrokers
from cordwood.core.address import Address
from cordwood.core.errors import BrokerNotAvailableError, NotControllerError
from tests.unit.broker.image_samples import cluster


class Channel:
    def __init__(self, address: Address) -> None:
        self.address = address
        self.is_closed = False

    async def send(self, *_: object, **__: object) -> object:
        raise NotImplementedError

    def close(self) -> None:
        self.is_closed = True


class Channels:
    def __init__(self) -> None:
        self.opened = list[Channel]()

    def open(self, address: Address, *, client_id: str) -> Channel:
        assert client_id == "broker-1-markers"
        self.opened.append(Channel(address))
        return self.opened[-1]


def image_of(*ports: int) -> MetadataCache:
    return MetadataCache(replace(cluster(), brokers=brokers(*ports)))


def brokers(*ports: int) -> dict[int, BrokerImage]:
    return {
        number: BrokerImage(number, {"PLAINTEXT": ListenerEndpoint("PLAINTEXT", "host", port)})
        for number, port in enumerate(ports, start=1)
    }


def peers(metadata: MetadataCache, channels: Channels) -> PeerBrokers:
    return PeerBrokers(
        metadata,
        channels,  # type: ignore[arg-type]  # it sends nothing
        listener="PLAINTEXT",
        client_id="broker-1-markers",
    )


def move(metadata: MetadataCache, *ports: int) -> None:
    image = metadata.image
    metadata.publish(replace(image, brokers=brokers(*ports), epoch=image.epoch + 1))


def test_broker_has_one_channel() -> None:
    channels = Channels()
    known = peers(image_of(10, 20), channels)

    assert known.channel(2) is known.channel(2)
    assert [each.address for each in channels.opened] == [Address("host", 20)]


def test_broker_that_moves_gets_another_channel() -> None:
    metadata, channels = image_of(10, 20), Channels()
    known = peers(metadata, channels)
    known.channel(1)
    known.channel(2)

    move(metadata, 10, 21)

    assert [each.is_closed for each in channels.opened] == [False, True]
    known.channel(2)
    assert channels.opened[-1].address == Address("host", 21)


def test_broker_that_is_not_registered_has_no_channel() -> None:
    with pytest.raises(BrokerNotAvailableError, match="broker 3 is not registered"):
        peers(image_of(10), Channels()).channel(3)


def test_channel_to_the_controller_needs_one() -> None:
    metadata, channels = image_of(10), Channels()
    known = peers(metadata, channels)
    metadata.publish(replace(metadata.image, controller_id=1, epoch=metadata.image.epoch + 1))
    assert known.controller() is known.channel(1)

    metadata.publish(replace(metadata.image, controller_id=-1, epoch=metadata.image.epoch + 1))

    with pytest.raises(NotControllerError):
        known.controller()


def test_closed_peers_close_their_channels() -> None:
    channels = Channels()
    known = peers(image_of(10, 20), channels)
    known.channel(1)
    known.channel(2)

    known.close()

    assert all(each.is_closed for each in channels.opened)
