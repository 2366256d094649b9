"""Ports of a node in a cluster: ZooKeeper, and the channels to other brokers.

kazoo is an optional package, which is imported when a broker joins a cluster.
"""

import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple, Protocol

from cordwood.client.network.runtime import ClientRuntime
from cordwood.client.settings import ClientSettings
from cordwood.cluster.channels.broker_channel import BrokerChannels
from cordwood.cluster.channels.connected_channels import ConnectedChannels
from cordwood.cluster.zookeeper.client.zookeeper_client import ZooKeeperClient
from cordwood.core.errors import SettingError
from cordwood.core.installation import install_command
from cordwood.core.ports import Worker


class ZooKeeperFactory(Protocol):
    """Returns a client whose session has not begun; `hosts` is `zookeeper.connect`."""

    def __call__(self, hosts: str, *, session_timeout_ms: int) -> ZooKeeperClient:
        """Return the client of a node."""


class ClusterPorts(NamedTuple):
    """The ports of a node that is one of several brokers."""

    zookeeper: ZooKeeperFactory
    channels: Callable[[ClientRuntime], BrokerChannels]


def system_cluster_ports(worker: Worker) -> ClusterPorts:
    """Return the ports over the network, for the running loop."""
    loop = asyncio.get_running_loop()

    def zookeeper(hosts: str, *, session_timeout_ms: int) -> ZooKeeperClient:
        try:
            module = import_module("cordwood.cluster.zookeeper.client.kazoo_client")
        except ModuleNotFoundError as error:
            raise SettingError(
                "zookeeper.connect needs the package kazoo, which is not installed",
                key="zookeeper.connect",
                remedy=install_command("kazoo"),
            ) from error
        client: ZooKeeperClient = module.KazooZooKeeperClient(
            hosts, session_timeout_ms=session_timeout_ms, loop=loop, worker=worker
        )
        return client

    return ClusterPorts(zookeeper, _connected_channels)


def _connected_channels(runtime: ClientRuntime) -> BrokerChannels:
    # The addresses come from the registrations of the brokers.
    return ConnectedChannels(ClientSettings(bootstrap_servers=("localhost:9092",)), runtime)
