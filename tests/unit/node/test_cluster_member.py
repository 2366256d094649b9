"""Tests of the connection of a node to its cluster."""

import pytest

from cordwood.core.errors import SettingError
from tests.unit.node.cluster_samples import Cluster, cluster
from tests.unit.node.node_samples import run


def test_new_broker_without_an_id_gets_the_next_one() -> None:
    async def scene() -> None:
        async with cluster(1) as found:
            assert (await found.start(0)).configs.node_id == 1001

    run(scene())


def test_zookeeper_that_does_not_answer_ends_the_start() -> None:
    async def scene() -> None:
        found = Cluster()
        found.server.stop()
        with pytest.raises(SettingError, match=r"ZooKeeper at memory has not answered within 50"):
            await found.start(1, zookeeper_connection_timeout_ms="50")

    run(scene())


def test_broker_without_an_id_needs_generated_ids() -> None:
    async def scene() -> None:
        async with cluster() as found:
            with pytest.raises(SettingError, match="the broker has no id"):
                await found.start(0, broker_id_generation_enable="false")

    run(scene())


def test_protocol_of_an_earlier_release_is_refused() -> None:
    async def scene() -> None:
        async with cluster() as found:
            with pytest.raises(SettingError, match=r"3\.4 to 3\.9"):
                await found.start(1, inter_broker_protocol_version="2.8")

    run(scene())


def test_cluster_of_brokers_with_an_early_protocol_is_not_joined() -> None:
    async def scene() -> None:
        async with cluster(1) as found:
            path = "/brokers/ids/1"
            client = found.clients[1]
            node = await client.get(path)
            await client.set(path, node.data.replace(b'"version":5', b'"version":4'))
            with pytest.raises(SettingError, match="broker 1 is registered by version 4"):
                await found.start(2)

    run(scene())
