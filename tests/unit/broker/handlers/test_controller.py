"""Tests of the handlers of requests that the controller answers."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import pytest

from cordwood.broker.dispatch import CLUSTER_ROUTES, ROUTES, Dispatch, routes_of
from cordwood.broker.handlers import controller as handlers
from cordwood.broker.handlers.controller import (
    allocate_producer_ids,
    alter_partition_reassignments,
    elect_leaders,
    error_response,
    list_partition_reassignments,
)
from cordwood.broker.network.pending_response import chunks_of
from cordwood.broker.network.request_context import RequestContext
from cordwood.core.errors import (
    BrokerNotAvailableError,
    ElectionNotNeededError,
    InvalidRequestError,
    NotControllerError,
    PreferredLeaderNotAvailableError,
    RequestTimedOutError,
    StaleControllerEpochError,
)
from cordwood.observability.metrics import Metrics
from cordwood.protocol.apis import api_of
from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from cordwood.protocol.messages.alter_partition import AlterPartitionRequest
from cordwood.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from cordwood.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from cordwood.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
    TopicPartitions,
)
from cordwood.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)
from cordwood.protocol.primitives import Chunk
from cordwood.protocol.schema import Request, Response, default_struct
from tests.unit.broker.broker_samples import BrokerHarness, meanwhile, run
from tests.unit.broker.image_samples import topic

ELECT = ElectLeadersRequest(
    topic_partitions=[TopicPartitions(topic="orders", partitions=[0, 1])], election_type=0
)
REASSIGN = AlterPartitionReassignmentsRequest(
    topics=[
        ReassignableTopic(
            name="orders",
            partitions=[
                ReassignablePartition(partition_index=0, replicas=[1]),
                ReassignablePartition(partition_index=1, replicas=[2]),
            ],
        )
    ]
)
LIST = ListPartitionReassignmentsRequest(topics=None)
ALTER = AlterPartitionRequest(broker_id=2, broker_epoch=5, topics=[])
SHUT_DOWN = ControlledShutdownRequest(broker_id=2, broker_epoch=5)
ALLOCATE = AllocateProducerIdsRequest(broker_id=2, broker_epoch=5)
SUBMITTED = {
    "elect_leaders": ELECT,
    "alter_partition_reassignments": REASSIGN,
    "list_partition_reassignments": LIST,
    "alter_partition": ALTER,
    "controlled_shutdown": SHUT_DOWN,
}
R = TypeVar("R", bound=Response)


class Controller:
    """A controller that keeps the requests."""

    def __init__(self) -> None:
        self.submitted = list[tuple[Request, type[Response], int]]()
        self.epochs = list[tuple[int, int]]()

    async def submit(self, request: Request, kind: type[R], *, version: int) -> R:
        self.submitted.append((request, kind, version))
        return default_struct(kind)

    async def allocate_producer_ids(self, broker_id: int, *, broker_epoch: int) -> range:
        self.epochs.append((broker_id, broker_epoch))
        return range(7000, 8000)


class Deposed(Controller):
    """A broker that is not the controller."""

    async def submit(self, request: Request, kind: type[R], *, version: int) -> R:
        raise NotControllerError

    async def allocate_producer_ids(self, broker_id: int, *, broker_epoch: int) -> range:
        raise NotControllerError


async def handled(dispatch: Dispatch, context: RequestContext, body: memoryview) -> Sequence[Chunk]:
    """Return the chunks of a response."""
    return await chunks_of(await dispatch.handle(context, body)) or []


def harness() -> BrokerHarness:
    """Return an embedded broker with a topic, whose second partition has no leader."""
    made, orders = BrokerHarness(), topic("orders", 2)
    orders = orders.without_leaders([*orders.names()][1:])
    made.metadata.publish(made.metadata.image.with_topic(orders))
    return made


@pytest.mark.parametrize("name", SUBMITTED)
def test_controller_of_a_cluster_answers(name: str) -> None:
    place, controller, request = harness(), Controller(), SUBMITTED[name]
    place.broker.controller = controller

    response = run(getattr(handlers, name)(place.broker, place.context(3), request))

    assert controller.submitted == [(request, type(response), 3)]
    assert type(response) is api_of(type(request).__schema__.api_key or 0).response()


def test_controller_of_a_cluster_allocates_producer_ids() -> None:
    place, controller = harness(), Controller()
    place.broker.controller = controller

    response = run(allocate_producer_ids(place.broker, place.context(0), ALLOCATE))

    assert response == AllocateProducerIdsResponse(
        error_code=0, producer_id_start=7000, producer_id_len=1000
    )
    assert controller.epochs == [(2, 5)]


def test_apis_between_brokers_are_routed_in_a_cluster_alone() -> None:
    place = harness()

    assert routes_of(place.broker) is ROUTES
    place.broker.controller = Controller()
    assert routes_of(place.broker) is CLUSTER_ROUTES
    assert {*CLUSTER_ROUTES} - {*ROUTES} >= {7, 56, 67}


APIS = (7, 43, 45, 46, 56, 67)


@pytest.mark.parametrize("key", APIS)
def test_every_version_is_answered_and_refused(key: int) -> None:
    api, answers = api_of(key), list[Response]()

    for controller in (Controller(), Deposed()):
        place = harness()
        place.broker.controller = controller
        dispatch = Dispatch(place.broker, Metrics())
        for version in range(api.first, api.last + 1):
            context = RequestContext(key, version, 1, "client", place.connection)
            body = memoryview(bytearray(joined(encode(default_struct(api.request()), version))))
            chunks = run(handled(dispatch, context, body))
            answers.append(decode(api.response(), joined(chunks), version))

    assert {type(each) for each in answers} == {api.response()}


# -- an embedded broker


def elected(request: ElectLeadersRequest) -> list[tuple[str, int, int]]:
    place = harness()
    response = run(elect_leaders(place.broker, place.context(2), request))
    assert response.error_code == 0
    return [
        (each.topic, result.partition_id, result.error_code)
        for each in response.replica_election_results
        for result in each.partition_result
    ]


def test_embedded_broker_elects_no_leader() -> None:
    assert elected(ELECT) == [
        ("orders", 0, ElectionNotNeededError.code),
        ("orders", 1, PreferredLeaderNotAvailableError.code),
    ]


def test_partitions_that_have_their_leader_are_left_out_of_an_election_of_all() -> None:
    assert elected(ElectLeadersRequest(topic_partitions=None, election_type=0)) == [
        ("orders", 1, PreferredLeaderNotAvailableError.code)
    ]


def test_topics_without_an_election_stay_in_an_election_of_all() -> None:
    place = harness()
    place.metadata.publish(place.metadata.image.with_topic(topic("led")))
    request = ElectLeadersRequest(topic_partitions=None, election_type=0)

    response = run(elect_leaders(place.broker, place.context(2), request))

    assert [
        (each.topic, len(each.partition_result)) for each in response.replica_election_results
    ] == [
        ("orders", 1),
        ("led", 0),
    ]


def test_unknown_election_type_is_rejected() -> None:
    with pytest.raises(InvalidRequestError):
        elected(ElectLeadersRequest(topic_partitions=None, election_type=9))


def test_embedded_broker_has_no_reassignment() -> None:
    place = harness()

    response = run(alter_partition_reassignments(place.broker, place.context(1), REASSIGN))
    listed = run(list_partition_reassignments(place.broker, place.context(0), LIST))

    (orders,) = response.responses
    assert [each.error_code for each in orders.partitions] == [0, 39]
    assert (listed.error_code, listed.topics) == (0, [])


# -- errors


def test_error_of_an_election_is_that_of_each_partition() -> None:
    response = error_response(ELECT, NotControllerError(), version=2)

    assert isinstance(response, ElectLeadersResponse)
    assert response.error_code == NotControllerError.code
    (orders,) = response.replica_election_results
    assert [each.error_code for each in orders.partition_result] == [41, 41]


def test_first_version_of_an_election_has_no_error_of_the_request() -> None:
    response = error_response(ELECT, NotControllerError(), version=0)

    assert isinstance(response, ElectLeadersResponse)
    assert response.error_code == 0


@pytest.mark.parametrize("request_", (REASSIGN, LIST, ALTER, ALLOCATE), ids=type)
def test_error_is_that_of_the_request(request_: Request) -> None:
    response = error_response(request_, NotControllerError(), version=0)

    assert getattr(response, "error_code", None) == NotControllerError.code


def test_controlled_shutdown_elsewhere_gets_the_error_of_kafka() -> None:
    codes = [
        getattr(error_response(SHUT_DOWN, error, version=3), "error_code", None)
        for error in (NotControllerError(), BrokerNotAvailableError())
    ]

    assert codes == [StaleControllerEpochError.code, BrokerNotAvailableError.code]


class ElectingController(Controller):
    """A controller that has elected the leader of the second partition."""

    async def submit(self, request: Request, kind: type[R], *, version: int) -> R:
        await super().submit(request, kind, version=version)
        result = PartitionResult(partition_id=1, error_code=0, error_message=None)
        elected = ReplicaElectionResult(topic="orders", partition_result=[result])
        response = ElectLeadersResponse(replica_election_results=[elected])
        assert isinstance(response, kind)
        return response


def election(*steps: Callable[[BrokerHarness], object]) -> tuple[list[bool], int]:
    """Elect leaders; return whether the answer came before each step, and its code."""
    place = harness()
    place.broker.controller = ElectingController()
    over, response = run(
        meanwhile(
            elect_leaders(place.broker, place.context(2), ELECT),
            *(partial(step, place) for step in steps),
        )
    )
    return over, response.replica_election_results[0].partition_result[0].error_code


def test_election_is_answered_when_the_image_has_the_leader() -> None:
    def publish(place: BrokerHarness) -> None:
        place.metadata.publish(place.metadata.image.with_topic(topic("orders", 2)))

    assert election(lambda _: None, publish) == ([False, False], 0)


def test_election_without_a_leader_in_the_image_times_out() -> None:
    def wait(place: BrokerHarness) -> None:
        place.time.advance(ms=60_000)

    assert election(wait) == ([False], RequestTimedOutError.code)
