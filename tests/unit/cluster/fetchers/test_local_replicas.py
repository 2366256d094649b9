"""Test of the port to local logs: the one in memory keeps it."""

from cordwood.cluster.fetchers.local_replicas import LeaderBounds, LocalReplicas
from tests.unit.cluster.fetchers.fetcher_world import A, MemoryReplicas


def test_replicas_in_memory_are_replicas_of_the_port() -> None:
    replicas: LocalReplicas = MemoryReplicas()

    replicas.append(A, memoryview(b"rr"), leader_epoch=1, bounds=LeaderBounds(1, 0))

    log = replicas.follower_log(A)
    assert (log.log_start, log.high_watermark, log.log_end) == (0, 1, 2)
