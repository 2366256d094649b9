"""A cluster in memory: the store, brokers with queues of requests, and its controller.

Events wait in a queue. An effect is one step: before it the controller may crash, or another one
may be elected and complete its fail-over, while the former one continues until the store rejects
it.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from cordwood.cluster.controller.broker_changes import (
    brokers_changed,
    leader_and_isr_answered,
)
from cordwood.cluster.controller.context.cluster_context import (
    ClusterContext,
    ControllerSettings,
)
from cordwood.cluster.controller.effects import (
    BrokerRequest,
    ConnectBrokers,
    DisconnectBrokers,
    Effect,
    Flow,
    ReportFailures,
    Respond,
    SendRequests,
)
from cordwood.cluster.controller.failover import fail_over
from cordwood.cluster.controller.topic_deletions import stop_replica_answered
from cordwood.core.errors import StaleControllerEpochError
from cordwood.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from cordwood.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from tests.unit.cluster.controller.broker_model import BrokerModel
from tests.unit.cluster.controller.store_model import StoreModel

T = TypeVar("T")

Event: TypeAlias = Callable[[ClusterContext], Flow[object]]


class ControllerCrashedError(Exception):
    """The controller ended in the middle of a flow."""


@dataclass
class ClusterModel:
    """The parts of the cluster."""

    store: StoreModel = field(default_factory=StoreModel)
    brokers: dict[int, BrokerModel] = field(default_factory=dict)
    queues: dict[int, deque[BrokerRequest]] = field(default_factory=dict)
    events: deque[Event] = field(default_factory=deque)
    #: Requests of former controllers that were not delivered in time.
    late: list[BrokerRequest] = field(default_factory=list)
    context: ClusterContext | None = None
    settings: ControllerSettings = field(
        default_factory=lambda: ControllerSettings(controller_id=1)
    )
    #: Called with each effect before it is performed.
    watch: Callable[[Effect[object]], None] = lambda _: None
    #: The number of effects after which the controller crashes, or another one is elected.
    crash_after: int | None = None
    is_overtaken: bool = False
    responses: list[object] = field(default_factory=list)

    # Brokers

    def start(self, *broker_ids: int) -> None:
        """Start brokers, again if they run."""
        for each in broker_ids:
            epoch = self.store.register(each)
            offline = self.brokers[each].offline if each in self.brokers else set()
            self.brokers[each] = BrokerModel(each, epoch, offline=offline)
        self.events.append(brokers_changed)

    def stop(self, *broker_ids: int) -> None:
        """Stop brokers."""
        for each in broker_ids:
            self.brokers.pop(each, None)
            self.store.brokers.pop(each, None)
        self.events.append(brokers_changed)

    def deliver(self, broker_id: int, number: int | None = None) -> int:
        """Deliver the first requests of a queue; return how many there were."""
        queue = self.queues.get(broker_id, deque())
        count = len(queue) if number is None else min(number, len(queue))
        for _ in range(count):
            sent = queue.popleft()
            broker = self.brokers.get(broker_id)
            if broker is not None:
                self._answered(broker_id, sent, broker)
        return count

    def deliver_late(self, position: int) -> None:
        """Deliver a request of a former controller, whose response is of no use to anyone."""
        if self.late:
            sent = self.late.pop(position % len(self.late))
            broker = self.brokers.get(sent.broker_id)
            if broker is not None:
                broker.answer(sent.request)

    def _answered(self, broker_id: int, sent: BrokerRequest, broker: BrokerModel) -> None:
        request, response = sent.request, broker.answer(sent.request)
        if isinstance(response, LeaderAndIsrResponse):
            self.events.append(
                lambda context: leader_and_isr_answered(context, broker_id, response=response)
            )
        elif isinstance(response, StopReplicaResponse):
            assert isinstance(request, StopReplicaRequest)
            self.events.append(
                lambda context: stop_replica_answered(
                    context, broker_id, request=request, response=response
                )
            )

    # The controller

    def elect(self) -> None:
        """Elect a new controller; the former one still runs flows with its context."""
        self.store.controller_epoch += 1
        self._end_controller()
        epoch = self.store.controller_epoch
        context = self._run(fail_over(self.settings, epoch=epoch), epoch=epoch)
        if epoch == self.store.controller_epoch:
            self.context = context

    def run(self, event: Event) -> object:
        """Run the flow of an event; return its result."""
        assert self.context is not None
        return self._run(event(self.context), epoch=self.context.epoch)

    def run_events(self) -> int:
        """Run the flows of all events; return how many there were."""
        count = 0
        while self.events and self.context is not None:
            self.run(self.events.popleft())
            count += 1
        return count

    def settle(self) -> None:
        """Run all events and deliver all requests, until none is left."""
        while self.run_events() + sum(map(self.deliver, self.brokers)):
            pass

    def _run(self, flow: Flow[T], *, epoch: int) -> T:
        result: object = None
        try:
            effect = next(flow)
            while True:
                self._step(flow, effect)
                try:
                    result = self._perform(effect, epoch)
                except StaleControllerEpochError as error:
                    effect = flow.throw(error)
                    raise AssertionError(f"a flow continues with {effect}") from error
                effect = flow.send(result)
        except StopIteration as stop:
            returned: T = stop.value
            return returned

    def _end_controller(self) -> None:
        self.context = None
        self.late += [each for queue in self.queues.values() for each in queue]
        self.queues.clear()
        self.events.clear()

    def _step(self, flow: Flow[T], effect: Effect[object]) -> None:
        if self.crash_after is not None:
            if self.crash_after == 0:
                self.crash_after = None
                if not self.is_overtaken:
                    flow.close()
                    self._end_controller()
                    raise ControllerCrashedError
                self.elect()
                return  # the effect is one of a controller that was replaced
            self.crash_after -= 1
        self.watch(effect)

    def _perform(self, effect: Effect[object], epoch: int) -> object:
        if epoch != self.store.controller_epoch:
            return self._perform_late(effect, epoch)
        if isinstance(effect, ConnectBrokers):
            for each in effect.brokers:
                self.queues[each.broker_id] = deque()
        elif isinstance(effect, DisconnectBrokers):
            for broker_id in effect.broker_ids:
                self.queues.pop(broker_id, None)
        elif isinstance(effect, SendRequests):
            for request in effect.requests:
                self.queues[request.broker_id].append(request)
        elif isinstance(effect, Respond):
            self.responses.append(effect.response)
        elif not isinstance(effect, ReportFailures):
            return self.store.perform(effect, epoch)
        return None

    def _perform_late(self, effect: Effect[object], epoch: int) -> object:
        """Perform an effect of a controller that has been replaced, and still runs."""
        if isinstance(effect, SendRequests):
            self.late += effect.requests
            return None
        if isinstance(effect, ConnectBrokers | DisconnectBrokers | Respond | ReportFailures):
            return None
        return self.store.perform(effect, epoch)
