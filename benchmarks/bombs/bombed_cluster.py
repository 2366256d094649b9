"""ZooKeeper and two more brokers next to the bombed one, and the state that bombs must not change.

The topic has a replica on each broker. Its in-sync sets, leaders and records, the topics and the
brokers are compared before and after the bombs, as a client of another broker finds them.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Final, NamedTuple

from kazoo.client import KazooClient

import cordwood
from benchmarks.bombs.between_brokers import ForgedCluster, nonsense, of_stale_controller
from benchmarks.bombs.requests import TOPIC, Bomb, bombs
from benchmarks.kafka.peers import Peer
from cordwood.broker.dispatch import CLUSTER_ROUTES
from cordwood.core.uuids import parse_uuid
from cordwood.protocol.apis import api_of
from tests.interop.kafka_harness.jars import fetch
from tests.interop.kafka_harness.zookeepers import RunningZooKeeper, running_zookeeper
from tests.serving import CORDWOOD, Serving, ended_with

#: The broker under fire, and the others.
BOMBED: Final = 1
OTHERS: Final = (2, 3)
_NOBODY: Final = 77
_PATIENCE_S: Final = 120
_SETTINGS: Final = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
#: LeaderAndIsr and StopReplica, which are also sent with the epoch of the present controller.
_ROLES: Final = (4, 5)


class ClusterState(NamedTuple):
    """The cluster as a client finds it."""

    brokers: frozenset[int]
    topics: frozenset[str]
    #: The leader, the in-sync replicas and the end of each partition.
    partitions: tuple[tuple[int, frozenset[int], int], ...]


class BombedCluster:
    """A cluster whose first broker is bombed."""

    def __init__(self, zookeeper: RunningZooKeeper, others: list[Serving]) -> None:
        self._zookeeper = zookeeper
        self._bootstrap = ",".join(each.address for each in others)

    def wait_until_joined(self) -> None:
        """Wait until the controller knows every broker."""
        end_s = monotonic() + _PATIENCE_S
        with cordwood.Admin(self._bootstrap) as admin:
            while len(admin.describe_cluster().brokers) < len(OTHERS) + 1:
                if monotonic() > end_s:
                    raise TimeoutError("the bombed broker has not joined the cluster")
                sleep(0.1)

    def state(self) -> ClusterState:
        """Return the state once all replicas are in sync."""
        end_s = monotonic() + _PATIENCE_S
        while not _is_whole(found := self._look()):
            if monotonic() > end_s:
                raise TimeoutError(f"the cluster is not in sync: {found}")
            sleep(0.1)
        return found

    def bombs(self, elements: int) -> Iterator[Bomb]:
        """Yield large requests of every API, and nonsensical ones between brokers."""
        forged = self._forged()
        for keys, epoch in ((CLUSTER_ROUTES, 0), (_ROLES, forged.controller_epoch)):
            values = {"broker_id": _NOBODY, "broker_epoch": -1, "controller_epoch": epoch}
            for key in keys:
                last = api_of(key).request().__schema__.versions[1]
                yield from bombs(key, last, elements, node_id=BOMBED, values=values)
        yield from nonsense(forged)
        yield from of_stale_controller(forged)

    def _look(self) -> ClusterState:
        with cordwood.Admin(self._bootstrap) as admin:
            brokers = frozenset(each.node_id for each in admin.describe_cluster().brokers)
            topics = frozenset(each for each in admin.list_topics() if not each.startswith("__"))
            (described,) = admin.describe_topics([TOPIC])
        with cordwood.Consumer(self._bootstrap) as consumer:
            ends = consumer.end_offsets([(TOPIC, each.partition) for each in described.partitions])
        return ClusterState(
            brokers,
            topics,
            tuple(
                (each.leader, frozenset(each.in_sync), end)
                for each, end in zip(described.partitions, ends.values(), strict=True)
            ),
        )

    def _forged(self) -> ForgedCluster:
        """Return what the forged requests contain; the epochs are read in ZooKeeper."""
        client = KazooClient(self._zookeeper.address)
        client.start()
        try:
            controller_epoch = int(client.get("/controller_epoch")[0])
            broker_epoch = client.exists(f"/brokers/ids/{BOMBED}").czxid
        finally:
            client.stop()
            client.close()
        with cordwood.Admin(self._bootstrap) as admin:
            topic_id = parse_uuid(admin.describe_topics([TOPIC])[0].topic_id)
        return ForgedCluster(
            TOPIC, topic_id, BOMBED, broker_epoch, controller_epoch, (BOMBED, *OTHERS)
        )


@contextmanager
def cluster_around(peer: Peer) -> Iterator[BombedCluster]:
    """Run ZooKeeper and the other brokers; the peer joins them when it is started."""
    with ExitStack() as stack:
        zookeeper = stack.enter_context(running_zookeeper(fetch("kafka-3.9.1"), peer.folder))
        settings = {**_SETTINGS, "zookeeper.connect": zookeeper.address}
        for key, value in {**settings, "node.id": str(BOMBED)}.items():
            peer.command += ["--set", f"{key}={value}"]
        others = [
            stack.enter_context(ended_with(_broker(peer.folder, each, settings))) for each in OTHERS
        ]
        for each in others:
            each.start()
        yield BombedCluster(zookeeper, others)


def _broker(folder: Path, node_id: int, settings: dict[str, str]) -> Serving:
    own = folder / f"broker-{node_id}"
    own.mkdir()
    return Serving(own, {**settings, "node.id": str(node_id)}, program=CORDWOOD)


def _is_whole(found: ClusterState) -> bool:
    everyone = frozenset((BOMBED, *OTHERS))
    in_sync = {isr for _, isr, _ in found.partitions}
    return found.brokers == everyone and in_sync == {everyone}
