"""Requests between brokers from a client that is not a broker: the cluster stays as it was.

`tests/benchmarks/test_bomber.py` has large requests for a broker that is a process.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from benchmarks.bombs.between_brokers import ForgedCluster, nonsense, of_stale_controller
from benchmarks.bombs.requests import Bomb, bombs
from cordwood.broker.dispatch import CLUSTER_ROUTES, Dispatch
from cordwood.broker.metadata.metadata_image import INTERNAL_TOPICS
from cordwood.broker.network.pending_response import chunks_of
from cordwood.broker.network.request_context import ConnectionInfo, RequestContext
from cordwood.broker.services import BrokerServices
from cordwood.cluster.active_controller.active_controller import ActiveController
from cordwood.core.errors import UnknownTopicOrPartitionError, UnsupportedVersionError
from cordwood.core.ports import FileKind
from cordwood.core.uuids import NO_UUID
from cordwood.observability.metrics import Metrics
from cordwood.protocol.apis import APIS, ApiUse, api_of
from cordwood.protocol.codec import decode, joined
from cordwood.protocol.header import read_request_header
from cordwood.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from cordwood.protocol.messages.stop_replica import StopReplicaResponse
from cordwood.protocol.messages.update_metadata import UpdateMetadataResponse
from cordwood.protocol.schema import Response
from tests.unit.node.cluster_samples import (
    Cluster,
    controller_of,
    create_orders,
    in_sync,
    produce,
    until,
)
from tests.unit.node.node_samples import run

PARTITIONS: Final = 3
NODES: Final = (1, 2, 3)
RECORDS: Final = 20
ELEMENTS: Final = 200
UNKNOWN_BROKER: Final = 77
#: The first versions with topic ids.
FIRST: Final = {4: 5, 5: 3, 6: 7}
#: The client APIs whose requests brokers send to each other too, or that move replicas.
MORE: Final = frozenset(
    {
        "AlterPartitionReassignments",
        "ElectLeaders",
        "Fetch",
        "OffsetForLeaderEpoch",
        "WriteTxnMarkers",
    }
)
FORGED: Final = ForgedCluster("orders", NO_UUID, 1, 1, 1, NODES)


class Replica(NamedTuple):
    """One partition on one broker."""

    leader: int
    isr: frozenset[int]
    leader_epoch: int
    role: str
    log_end: int
    high_watermark: int
    log_start: int


class Site(NamedTuple):
    """A cluster, what a client can guess about it, and its state before the requests."""

    found: Cluster
    forged: ForgedCluster
    before: dict[int, object]

    def of(self, node_id: int, broker_epoch: int) -> ForgedCluster:
        return self.forged._replace(node_id=node_id, broker_epoch=broker_epoch)


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    """Yield a cluster with a topic and records, when nothing is under way."""
    found = Cluster()
    async with found.stack:
        for each in NODES:
            await found.start(each, auto_create_topics_enable="false")
        await create_orders(found, partitions=PARTITIONS)
        await produce(found, *(b"%d" % each for each in range(RECORDS)))
        controller = await controller_of(found)
        await until(lambda: _is_settled(found))
        assert isinstance(controller.controller, ActiveController)
        assert controller.controller.epoch is not None
        topic = controller.metadata.image.topics["orders"]
        epoch = controller.controller.epoch
        forged = ForgedCluster("orders", topic.topic_id, 0, 0, epoch, NODES)
        yield Site(found, forged, state_of(found))
        await produce(found, b"after")


def _is_settled(found: Cluster) -> bool:
    """Return whether all replicas are in sync and have all records below their high watermarks."""
    for number in range(PARTITIONS):
        bounds = [found.brokers[n].partitions.get("orders", number).log.bounds for n in NODES]
        ends = {(each.log_end, each.high_watermark) for each in bounds}
        if len(ends) > 1 or any(end != mark for end, mark in ends):
            return False
        if any(in_sync(each, number) != {*NODES} for each in found.brokers.values()):
            return False
    return True


def state_of(found: Cluster) -> dict[int, object]:
    """Return the replicas, images and directories of all brokers."""
    return {each: _state_of_node(found, each) for each in found.nodes}


def _state_of_node(found: Cluster, node_id: int) -> object:
    broker = found.brokers[node_id]
    image = broker.metadata.image
    folders = found.files[node_id].list("/logs", FileKind.DIRECTORY)
    names = sorted(each for each in folders if each.rpartition("-")[0] not in INTERNAL_TOPICS)
    topics = {name: len(each.partitions) for name, each in image.topics.items()}
    for each in INTERNAL_TOPICS:
        topics.pop(each, None)
    replicas = [_replica(broker, each) for each in range(PARTITIONS)]
    return image.controller_id, sorted(image.brokers), topics, names, replicas


def _replica(broker: BrokerServices, number: int) -> Replica | None:
    state = broker.metadata.image.topics["orders"].partitions[number]
    try:
        partition = broker.partitions.get("orders", number)
    except UnknownTopicOrPartitionError:
        return None
    bounds = partition.log.bounds
    return Replica(
        state.leader,
        frozenset(state.isr),
        state.leader_epoch,
        type(partition.role).__name__,
        bounds.log_end,
        bounds.high_watermark,
        bounds.log_start,
    )


async def response_to(dispatch: Dispatch, bomb: Bomb) -> Response:
    """Return the decoded response."""
    header, at = read_request_header(memoryview(bomb.frame)[4:])
    connection = ConnectionInfo(id=1, host="::1", port=1, listener="PLAINTEXT", is_secure=False)
    key, version = header.request_api_key, header.request_api_version
    context = RequestContext(key, version, 1, None, connection)
    handled = await dispatch.handle(context, memoryview(bytearray(bomb.frame))[4 + at :])
    chunks = await chunks_of(handled)
    assert chunks is not None, bomb.name
    return decode(api_of(key).response(), joined(chunks), version)


async def findings(site: Site, bombs_of: Iterable[tuple[int, Iterable[Bomb]]]) -> list[str]:
    """Send requests to brokers; return which ones changed the cluster."""
    found, before = list[str](), site.before
    for node_id, thrown in bombs_of:
        dispatch = Dispatch(site.found.brokers[node_id], Metrics())
        for bomb in thrown:
            await response_to(dispatch, bomb)
            after = state_of(site.found)
            if after != before:
                found.append(f"broker {node_id}, {bomb.name}: {before} became {after}")
                before = after
    return found


async def broker_epoch(found: Cluster, node_id: int) -> int:
    stat = await found.clients[node_id].exists(f"/brokers/ids/{node_id}")
    assert stat is not None
    return stat.czxid


def test_nonsense_of_a_client_that_is_not_a_broker_changes_nothing() -> None:
    async def scene() -> list[str]:
        async with site() as made:
            forged = [made.of(each, await broker_epoch(made.found, each)) for each in NODES]
            return await findings(
                made,
                [(each.node_id, (*nonsense(each), *of_stale_controller(each))) for each in forged],
            )

    assert run(scene()) == []


def test_large_requests_of_every_api_change_nothing() -> None:
    async def scene() -> list[str]:
        async with site() as made:
            epoch = made.forged.controller_epoch
            return await findings(
                made,
                [
                    (each, (*_sized(CLUSTER_ROUTES, 0, each), *_sized((4, 5), epoch, each)))
                    for each in NODES
                ],
            )

    assert run(scene()) == []


def _sized(keys: Iterable[int], controller_epoch: int, node_id: int) -> Iterable[Bomb]:
    """Yield large requests of the last version of APIs; replicas are on the broker."""
    values = {"broker_id": UNKNOWN_BROKER, "controller_epoch": controller_epoch, "broker_epoch": -1}
    for key in keys:
        last = api_of(key).request().__schema__.versions[1]
        yield from bombs(key, last, ELEMENTS, node_id=node_id, values=values)


def test_every_served_api_has_a_route_and_so_requests_of_every_size() -> None:
    assert {*CLUSTER_ROUTES} == {each.key for each in APIS.values() if ApiUse.SERVED in each.use}


def test_every_api_between_brokers_has_nonsensical_requests() -> None:
    between = {each.name for each in APIS.values() if each.is_between_brokers}

    assert {each.api for each in nonsense(FORGED)} == between | MORE


def test_versions_without_topic_ids_are_refused() -> None:
    async def scene() -> list[str]:
        async with site() as made:
            dispatch = Dispatch(made.found.brokers[1], Metrics())
            earlier = [(key, each) for key, first in FIRST.items() for each in range(first)]
            thrown = [bomb for key, version in earlier for bomb in bombs(key, version, 3)]
            responses = [await response_to(dispatch, each) for each in thrown]
            return [
                each.name
                for each, response in zip(thrown, responses, strict=True)
                if _code_of(response) != UnsupportedVersionError.code
            ]

    assert run(scene()) == []


def _code_of(response: Response) -> int:
    """Return the error code of the whole response."""
    assert isinstance(response, LeaderAndIsrResponse | StopReplicaResponse | UpdateMetadataResponse)
    return response.error_code
