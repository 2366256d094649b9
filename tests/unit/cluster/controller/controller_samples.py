"""Contexts and flows for tests of the controller."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from cordwood.cluster.controller.context.cluster_context import (
    ClusterContext,
    ControllerSettings,
    PartitionLifecycle,
    ReplicaLifecycle,
)
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.context.live_broker import BrokerEndpoint, LiveBroker
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import Effect, Flow, Respond
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from tests.unit.cluster.controller.effect_texts import effect_lines
from tests.unit.cluster.controller.store_model import StoreModel, partition

T = TypeVar("T")

ORDERS_0 = partition("orders-0")
ORDERS_ID = Uuid(bytes(15) + b"\x01")


def live_broker(broker_id: int, epoch: int | None = None) -> LiveBroker:
    """Return a broker, whose epoch is its id plus 100 unless given."""
    endpoint = BrokerEndpoint("PLAINTEXT", f"host{broker_id}", 9092)
    return LiveBroker(broker_id, broker_id + 100 if epoch is None else epoch, (endpoint,))


def cluster_context(
    brokers: Iterable[int] = (1, 2, 3),
    assignments: Sequence[ReplicaAssignment | tuple[int, ...]] = ((1, 2, 3),),
    *,
    leaderships: Mapping[TopicPartition, Leadership] | None = None,
) -> ClusterContext:
    """Return a context with the topic `orders`, led by the first replicas unless given."""
    context = ClusterContext(settings=ControllerSettings(controller_id=1), epoch=7)
    context.register(map(live_broker, brokers))
    context.set_topic_id("orders", ORDERS_ID)
    found = {
        number: each if isinstance(each, ReplicaAssignment) else ReplicaAssignment(each)
        for number, each in enumerate(assignments)
    }
    context.add_partitions("orders", found)
    for name, assignment in context.partitions_of("orders"):
        replicas = assignment.replicas
        context.leaderships[name] = Leadership(replicas[0], 0, replicas, controller_epoch=7)
        context.partition_states[name] = PartitionLifecycle.ONLINE
        for each in replicas:
            context.replica_states.setdefault(each, {})[name] = ReplicaLifecycle.ONLINE
    context.leaderships.update(leaderships or {})
    return context


def store_of(context: ClusterContext) -> StoreModel:
    """Return a store with the values of a context."""
    store = StoreModel(controller_epoch=context.epoch)
    store.brokers.update(context.brokers)
    for topic in context.topics:
        store.create(topic)
        found = store.topics[topic]
        store.topics[topic] = found._replace(partitions=context.assignments_of(topic))
    store.leaderships.update(context.leaderships)
    return store


class Performed(Generic[T]):
    """A flow that has run: its lines of text, its responses, its result, and its store."""

    def __init__(
        self, context: ClusterContext, flow: Flow[T], store: StoreModel | None = None
    ) -> None:
        self.store = store or store_of(context)
        self.lines = list[str]()
        self.responses = list[object]()
        self.result: T = self._run(flow, context.epoch)

    def _run(self, flow: Flow[T], epoch: int) -> T:
        handled = self.store.handled_types()
        result: object = None
        while True:
            try:
                effect: Effect[object] = flow.send(result)
            except StopIteration as stop:
                returned: T = stop.value
                return returned
            self.lines += effect_lines(effect)
            if isinstance(effect, Respond):
                self.responses.append(effect.response)
            result = self.store.perform(effect, epoch) if type(effect) in handled else None


def before_first(effect_type: type, flow: Flow[T], action: Callable[[], None]) -> Flow[T]:
    """Return the flow, with an action of someone else before its first effect of a type."""
    result: object = None
    is_done = False
    while True:
        try:
            effect = flow.send(result)
        except StopIteration as stop:
            returned: T = stop.value
            return returned
        if isinstance(effect, effect_type) and not is_done:
            action()
            is_done = True
        result = yield effect
