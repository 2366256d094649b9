"""Tests of the ports of a node in a cluster."""

import sys

import pytest

from cordwood.client.network.runtime import system_runtime
from cordwood.cluster.zookeeper.client.zookeeper_client import SessionState
from cordwood.core.address import Address
from cordwood.core.errors import NetworkError, SettingError
from cordwood.node.cluster_ports import system_cluster_ports
from cordwood.protocol.messages.metadata import MetadataRequest, MetadataResponse
from cordwood.testing.inline_worker import InlineWorker
from tests.unit.node.node_samples import run


def test_client_of_zookeeper_has_no_session_yet() -> None:
    async def scene() -> None:
        ports = system_cluster_ports(InlineWorker())
        client = ports.zookeeper("127.0.0.1:1/cordwood", session_timeout_ms=6_000)
        assert client.state is SessionState.CLOSED

    run(scene())


def test_missing_package_is_named_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cordwood.cluster.zookeeper.client.kazoo_client", None)

    async def scene() -> None:
        ports = system_cluster_ports(InlineWorker())
        with pytest.raises(SettingError, match=r"needs the package kazoo.*install 'kazoo>="):
            ports.zookeeper("127.0.0.1:1", session_timeout_ms=6_000)

    run(scene())


def test_channels_go_over_the_network() -> None:
    async def scene() -> None:
        channels = system_cluster_ports(InlineWorker()).channels(system_runtime())
        channel = channels.open(Address("127.0.0.1", 1), client_id="broker-1")
        with pytest.raises(NetworkError, match=r"127\.0\.0\.1:1"):
            await channel.send(MetadataRequest(topics=[]), MetadataResponse, timeout_ms=1_000)
        channel.close()

    run(scene())
