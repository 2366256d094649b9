"""Tests of the port to other brokers."""

from cordwood.client.network.runtime import system_runtime
from cordwood.client.settings import ClientSettings
from cordwood.cluster.channels.broker_channel import BrokerChannel, BrokerChannels
from cordwood.cluster.channels.connected_channels import ConnectedChannel, ConnectedChannels
from cordwood.core.address import Address
from tests.unit.client.fake_broker import run


def opened(channels: BrokerChannels) -> BrokerChannel:
    return channels.open(Address("host", 1), client_id="a broker")


def test_connected_channels_are_channels_of_the_port() -> None:
    async def scene() -> None:
        settings = ClientSettings(bootstrap_servers=("host:1",))

        channel = opened(ConnectedChannels(settings, system_runtime()))

        assert isinstance(channel, ConnectedChannel)
        assert channel.address == Address("host", 1)

    run(scene())
