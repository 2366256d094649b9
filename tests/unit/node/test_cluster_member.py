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
