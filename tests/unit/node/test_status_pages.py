"""Tests of a node's status pages."""

import pytest

from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.errors import ListenError
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.node.node_samples import page, run, started


def test_metrics_listener_that_fails_ends_the_start_before_clients_connect() -> None:
    nowhere = "203.0.113.1:1"

    async def scene() -> None:
        given = {"cordwood_metrics_listener": nowhere, "listeners": f"PLAINTEXT://{nowhere}"}
        async with started(MemoryFiles(), **given):
            pass

    with pytest.raises(ListenError, match="metrics listener: cannot listen"):
        run(scene())


def test_status_pages_show_the_state_of_the_node() -> None:
    async def scene() -> tuple[bytes, bytes]:
        given = {"cordwood_metrics_listener": "127.0.0.1:0"}
        async with started(MemoryFiles(), **given) as (node, broker):
            await broker.topics.create([NewTopic(name="orders", partitions=3)])
            return await page(node, "/metrics"), await page(node, "/healthz")

    metrics, health = run(scene())
    assert b"\ncordwood_partitions 3\n" in metrics
    assert b'\ncordwood_log_bytes{topic="orders"} 0\n' in metrics
    assert b"\ncordwood_group_offsets 0\n" in metrics
    assert b'\ncordwood_transactions_total{result="committed"} 0\n' in metrics
    assert health.startswith(b"HTTP/1.1 200 OK")
