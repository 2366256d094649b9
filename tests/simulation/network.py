"""Network of a simulation: it delays, repeats, reorders and loses requests and responses.

    call ──► request ──► broker ──► response ──► call
             lost, late, repeated   lost, late

A lost request or response breaks its connection, which the client notices some time later. A late
one may still arrive: the client has given up and sends on another connection. Within an ordered
channel requests arrive in the order in which they were sent, and a repeated one directly after
the first. The others may overtake each other.

Two kinds of repetition are left out: TCP excludes them, and Kafka's protocol cannot bear them. The
second copy of a ConsumerGroupHeartbeat has no response: the first one has the changed assignment. A
JoinGroup does not arrive after its response: in a consumer group it would give up the partitions
that the member has been assigned since, as in Kafka (`tests/interop/test_groups_match_kafka.py`).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from cordwood.coordination.client_context import ClientContext
from cordwood.core.errors import KafkaError, NetworkError, RequestTimedOutError
from cordwood.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from cordwood.protocol.messages.join_group import JoinGroupRequest
from cordwood.protocol.schema import Request, Response
from tests.simulation.simulated_broker import (
    Incarnation,
    ProduceBatch,
    Produced,
    SimulatedBroker,
)
from tests.simulation.world import World

if TYPE_CHECKING:
    import asyncio

Answered: TypeAlias = Response | Produced | KafkaError
OnAnswered: TypeAlias = Callable[[Answered | None], None]
"""Takes what the broker has answered, None if it has crashed."""
OnServed: TypeAlias = Callable[[], OnAnswered]
"""Is called when the broker takes a request."""

_LOST: Final = 0.02
_LATE: Final = 0.04
_REPEATED: Final = 0.03
_LONGEST_DELAY_MS: Final = 4_000.0
_LONGEST_NOTICE_MS: Final = 800.0


class Channel:
    """The connections of one client for one purpose."""

    def __init__(self, client_id: str, *, is_ordered: bool) -> None:
        self.client_id: Final = client_id
        self.is_ordered: Final = is_ordered
        self.last_arrival_ms = 0.0


class Call:
    """A request with its response, at its client."""

    __slots__ = ("answer", "channel", "on_served", "request", "version")

    def __init__(
        self,
        channel: Channel,
        request: Request | ProduceBatch,
        version: int,
        answer: "asyncio.Future[Answered]",
    ) -> None:
        self.channel = channel
        self.request = request
        self.version = version
        self.answer = answer
        self.on_served: OnServed | None = None


class Network:
    """Connections between the clients and the broker."""

    def __init__(self, world: World, broker: SimulatedBroker) -> None:
        self._world = world
        self._broker = broker
        self._in_broker = dict[Call, None]()
        #: Called with each request that arrives at the broker.
        self.on_arrival: Callable[[Request | ProduceBatch], object] = lambda _: None
        broker.on_crash = self._break_all

    @property
    def waiting(self) -> int:
        """The number of requests that the broker has not answered."""
        return len(self._in_broker)

    def send(self, call: Call, *, timeout_ms: float) -> None:
        """Send a request; the answer of its call follows in any case."""
        world = self._world
        timeout = world.after(
            timeout_ms, lambda: self._end(call, RequestTimedOutError("no response"))
        )
        call.answer.add_done_callback(lambda _: timeout.cancel())
        if world.draws(_LOST):
            world.count("requests lost")
            self._notice(call)
            return
        at = self._arrival(call.channel)
        world.at(at, lambda: self._arrive(call))
        if world.draws(_REPEATED):
            world.count("requests repeated")
            if not call.channel.is_ordered:
                at += world.random.uniform(0, _LONGEST_DELAY_MS)
            world.at(at, lambda: self._repeat(call))

    def _repeat(self, call: Call) -> None:
        request = call.request
        if not (call.answer.done() and isinstance(request, JoinGroupRequest)):
            has_response = not isinstance(request, ConsumerGroupHeartbeatRequest)
            self._arrive(call, has_response=has_response)

    def _arrival(self, channel: Channel) -> float:
        world = self._world
        delay_ms = world.random.uniform(0.2, 3)
        if world.draws(_LATE):
            world.count("requests delayed")
            delay_ms = world.random.uniform(10, _LONGEST_DELAY_MS)
        at = world.now_ms + delay_ms
        if channel.is_ordered:
            at = channel.last_arrival_ms = max(at, channel.last_arrival_ms)
        return at

    def _arrive(self, call: Call, *, has_response: bool = True) -> None:
        incarnation = self._broker.incarnation
        if incarnation is None:
            self._end(call, NetworkError("connection refused"))
        else:
            self._world.begin(self._serve(call, incarnation, has_response=has_response))
            self.on_arrival(call.request)

    async def _serve(self, call: Call, incarnation: Incarnation, *, has_response: bool) -> None:
        world = self._world
        served = call.on_served() if call.on_served is not None else None
        client = ClientContext(call.version, call.channel.client_id, "/127.0.0.1")
        if has_response:
            self._in_broker[call] = None
        answered: Answered
        try:
            answered = await incarnation.handle(call.request, client)
        except KafkaError as error:
            answered = error.with_traceback(None)
        if served is not None:
            served(answered if incarnation.is_up else None)
        if not (has_response and incarnation.is_up):
            return
        self._in_broker.pop(call, None)
        if world.draws(_LOST):
            world.count("responses lost")
            self._notice(call)
            return
        delay_ms = world.random.uniform(0.2, 3)
        if world.draws(_LATE):
            world.count("responses delayed")
            delay_ms = world.random.uniform(10, _LONGEST_DELAY_MS)
        world.after(delay_ms, lambda: self._end(call, answered))

    def _notice(self, call: Call) -> None:
        """Let the client notice a broken connection."""
        error = NetworkError("the connection is lost")
        delay_ms = self._world.random.uniform(1, _LONGEST_NOTICE_MS)
        self._world.after(delay_ms, lambda: self._end(call, error))

    def _break_all(self) -> None:
        """Break the connections of a broker that has crashed."""
        broken, self._in_broker = self._in_broker, {}
        for call in broken:
            self._notice(call)

    @staticmethod
    def _end(call: Call, answered: Answered) -> None:
        if not call.answer.done():
            call.answer.set_result(answered)
