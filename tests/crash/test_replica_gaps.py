"""A broker of a cluster whose machine ends: its replicas become those of their leaders again.

Any part of the writes that are not synced may survive, so that a segment may be lost and a later
one stay. The flushes of closed segments are left out: on a busy disk they come late.
"""

import os
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

import pytest

from cordwood.storage.files.header_scan import headers
from cordwood.storage.log.log import Log
from cordwood.storage.manager.future_completion import completed
from cordwood.storage.manager.log_flusher import LogFlusher
from tests.unit.node.cluster_samples import (
    Cluster,
    create_orders,
    high_watermark,
    in_sync,
    leader_of,
    produce,
    until,
)
from tests.unit.node.node_samples import run

NODES: Final = (1, 2, 3)
RECORDS: Final = 12
CRASHES: Final = 200 if os.environ.get("CORDWOOD_SOAK") == "1" else 8
SEED: Final = 22
#: The indexes of a segment are full after two batches.
SETTINGS: Final = {"log_index_size_max_bytes": "36", "log_index_interval_bytes": "0"}


def batches_of(log: Log) -> list[tuple[int, int, int]]:
    """Return the first and the last offset of each batch, and its leader epoch."""
    return [
        (each.base_offset, each.last_offset, each.partition_leader_epoch)
        for segment in log.segments
        for each in headers(segment.files.pread, 0, segment.size)
    ]


def log_of(found: Cluster, node_id: int) -> Log:
    return found.brokers[node_id].partitions.get("orders", 0).log


def has_leader(found: Cluster, node_id: int) -> bool:
    return leader_of(found.brokers[node_id]) > 0


def is_settled(found: Cluster) -> bool:
    """Return whether all replicas are in sync, up to the end of their logs."""
    if any(in_sync(each) != {*NODES} for each in found.brokers.values()):
        return False
    ends = {log_of(found, each).bounds.log_end for each in NODES}
    return len(ends) == 1 and {high_watermark(found, each) for each in NODES} == ends


async def restart_after_a_crash(found: Cluster, node_id: int, chance: random.Random) -> int | None:
    """Start a broker from what a crash left; return the offset of a gap that recovery found."""
    disk = found.files[node_id]
    pending = disk.pending()
    share = chance.random()
    left = disk.after_crash([each for each in range(len(pending)) if chance.random() < share])
    await found.stop(node_id)
    found.files[node_id] = left
    broker = await found.start(node_id, **SETTINGS)
    logs = [*broker.logs.logs.values()]
    return logs[0].report.gap if logs else None


@pytest.mark.timeout(600)
def test_replicas_equal_their_leaders_after_any_crash(
    monkeypatch: pytest.MonkeyPatch, report: Callable[[str], None]
) -> None:
    monkeypatch.setattr(LogFlusher, "flush", lambda *_: completed())
    chance, counts = random.Random(SEED), Counter[str]()

    async def scene() -> None:
        found = Cluster()
        async with found.stack:
            for each in NODES:
                await found.start(each, **SETTINGS)
            await create_orders(found)
            for _ in range(CRASHES):
                for number in range(RECORDS):
                    await produce(found, b"%d" % number)
                leader = leader_of(found.brokers[1])
                node_id = chance.choice([each for each in NODES if each != leader])
                gap = await restart_after_a_crash(found, node_id, chance)
                counts["gaps"] += gap is not None
                await until(partial(has_leader, found, node_id))
                await until(partial(is_settled, found))
                expected = batches_of(log_of(found, leader_of(found.brokers[node_id])))
                assert {each: batches_of(log_of(found, each)) for each in NODES} == dict.fromkeys(
                    NODES, expected
                )

    run(scene())

    report(f"crashes of followers: {CRASHES}, with a gap in the log: {counts['gaps']}")
    assert counts["gaps"] > 0
