"""Connections to all brokers, and the cluster metadata (Java: `NetworkClient` and `Metadata`).

    send_to_any          any reachable broker; the next one joins a broker that does not answer
    send_to_controller   the active controller
    retry_until_timeout  retry a call while its errors are retriable (`api_call.py`)

A call that fails because of outdated metadata is retried with refreshed metadata. `rejected` has
the partitions whose leader has rejected the known leadership since the last refresh. Connections
are opened on demand and kept until they break.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from cordwood.client.network.api_call import ApiCall, Attempt
from cordwood.client.network.broker_connection import BrokerConnection
from cordwood.client.network.cluster import NO_NODE, Cluster, TopicInfo
from cordwood.client.network.exponential_backoff import ExponentialBackoff
from cordwood.client.network.owned_tasks import OwnedTasks
from cordwood.client.network.response_errors import error_of
from cordwood.client.network.runtime import ClientRuntime
from cordwood.client.network.tracked_topics import TrackedTopics
from cordwood.client.settings import ClientSettings
from cordwood.core.address import Address
from cordwood.core.errors import (
    BrokerNotAvailableError,
    BytesError,
    KafkaError,
    LeaderNotAvailableError,
    NetworkError,
    RequestTimedOutError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint
from cordwood.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from cordwood.protocol.schema import Request, Response

if TYPE_CHECKING:
    from cordwood.core.ports import Timer

R = TypeVar("R", bound=Response)
T = TypeVar("T")

#: Builds a request that depends on the versions of its connection.
BuildRequest: TypeAlias = Callable[[BrokerConnection], Request]

#: Errors after which another broker is tried.
_UNREACHABLE: Final = (NetworkError, RequestTimedOutError)

_log = logging.getLogger(__name__)


class _NodeConnectionState:
    """State of one broker address: a connection, an attempt, or the backoff after a failure."""

    def __init__(self, address: Address, backoff: ExponentialBackoff) -> None:
        self.address = address
        self.backoff = backoff
        self.connection: BrokerConnection | None = None
        self.attempt: asyncio.Task[KafkaError | None] | None = None
        self.not_before_ms = 0.0

    @property
    def usable(self) -> BrokerConnection | None:
        """The connection, if requests can be sent on it."""
        made = self.connection
        return made if made is not None and made.is_usable else None

    @property
    def is_awaited(self) -> bool:
        """Whether an attempt to connect or a request is unanswered."""
        return self.attempt is not None or (self.usable is not None and self.usable.is_awaited)


class NetworkClient:  # tidy: allow[class-lines] connections and metadata depend on each other
    """One client's access to its cluster; with `creates_topics`, brokers may auto-create topics."""

    def __init__(
        self,
        settings: ClientSettings,
        runtime: ClientRuntime,
        tls: ssl.SSLContext | None,
        *,
        creates_topics: bool = True,
    ) -> None:
        self.settings = settings
        self.runtime = runtime
        self.cluster, self.tasks = Cluster(), OwnedTasks()
        self.rejected: set[tuple[str, int]] = set()
        self.coordinators: dict[tuple[int, str], int] = {}  # node ids, for `coordinator_call`
        self.on_change: Callable[[], object] = _ignore_change
        self._bootstrap = [_broker_at(each) for each in settings.bootstrap_servers]
        self._node_states: dict[Address, _NodeConnectionState] = {}
        self._connections: set[BrokerConnection] = set()
        self.topics = TrackedTopics(runtime, settings.metadata_max_idle_ms)
        self._creates_topics, self._tls = creates_topics, tls
        self._refreshing: asyncio.Task[KafkaError | None] | None = None
        self._planned: Timer | None = None
        self._refreshed_ms, self._is_closed = 0.0, False
        self._renewal = runtime.scheduler.every(
            max(settings.metadata_max_age_ms, 1), self.refresh_soon
        )

    async def close(self) -> None:
        """Cancel all tasks and close every connection."""
        self._is_closed = True
        self._renewal.cancel()
        if self._planned is not None:
            self._planned.cancel()
        try:
            await self.tasks.close()
        finally:
            for each in self._connections:
                each.close()

    # Metadata.

    async def refresh(self) -> None:
        """Refresh the metadata of the tracked topics; concurrent callers share one request."""
        error = await asyncio.shield(self._refresh_task())
        if error is not None:
            raise error

    def refresh_soon(self) -> None:
        """Schedule a metadata refresh, at the earliest `retry.backoff.ms` after the last one."""
        now_ms = self.runtime.now_ms()
        if self._refreshing is None and self._planned is None and not self._is_closed:
            self._planned = self.runtime.scheduler.call_at(
                max(now_ms, self._refreshed_ms + self.settings.retry_backoff_ms),
                self._refresh_as_planned,
            )

    async def topic(self, name: str, *, timeout_ms: float) -> TopicInfo:
        """Return a topic's metadata as soon as it has partitions, and track the topic."""

        async def known() -> TopicInfo:
            await self._ensure_metadata(name)
            state = self.cluster.topics.get(name)
            if state is None or state.error_code or not state.partitions:
                raise _no_topic(name, state)
            return state

        return await self.retry_until_timeout(
            known, timeout_ms=timeout_ms, subject=f"topic {name!r}"
        )

    async def leaders(
        self, partitions: Iterable[tuple[str, int]]
    ) -> dict[int, list[TopicPartition]]:
        """Group partitions by leader; the error names the partition that has no leader."""
        by_leader: dict[int, list[TopicPartition]] = {}
        for topic, number in partitions:
            await self._ensure_metadata(topic)
            state = self.cluster.topics.get(topic)
            if state is None or number not in state.partitions:
                raise _no_topic(topic, state, number)
            leader = self.cluster.leader_of(topic, number)
            if leader is None:
                if state.partitions[number].leader == NO_NODE:
                    self.rejected.add((topic, number))
                raise LeaderNotAvailableError(f"{topic}-{number} has no leader for now")
            each = TopicPartition(TopicName(topic), PartitionId(number))
            by_leader.setdefault(leader, []).append(each)
        return by_leader

    async def current_topics(
        self, names: Collection[str] | None = None, *, creates_topics: bool = False
    ) -> list[TopicInfo]:
        """Return the present metadata of these topics, or of all, without tracking them."""
        request = _metadata_request(names, creates_topics=creates_topics)
        response = await self.send_to_any(request, MetadataResponse)
        self.cluster = self.cluster.updated(response).only(self.topics)
        return _existing(Cluster().updated(response), names or ())

    def forget_topic(self, topic: str) -> None:
        """Stop tracking a topic, and drop its metadata."""
        self.topics.forget(topic)
        self.cluster = self.cluster.only(self.topics)

    def update_leaders(
        self,
        leaders: Iterable[tuple[str, int, LeaderIdAndEpoch]],
        endpoints: Iterable[NodeEndpoint],
    ) -> None:
        """Store the current leaders of a response (Kafka: `CurrentLeader`, `NodeEndpoints`)."""
        addresses = {each.node_id: Address(each.host, each.port) for each in endpoints}
        for topic, number, current in leaders:
            self.cluster = self.cluster.with_leader(
                topic,
                number,
                leader=current.leader_id,
                leader_epoch=current.leader_epoch,
                address=addresses.get(current.leader_id),
            )

    # Requests.

    async def connection(self, node_id: int) -> BrokerConnection:
        """Return an open connection to a broker; NetworkError if none can be opened."""
        address = self.cluster.brokers.get(node_id)
        if address is None:
            raise BrokerNotAvailableError(f"the cluster has no broker {node_id}")
        return await self._connected(self._node_state(address))

    async def open_connection(self, address: Address) -> BrokerConnection:
        """Open a connection in a task of `tasks`; the client's close closes it at the latest."""
        made = BrokerConnection(address, self.settings, self.runtime)
        try:
            await made.open(self._tls)
        except BaseException:
            made.close()
            raise
        self._connections = {made, *(each for each in self._connections if each.is_usable)}
        return made

    def ready(self, node_id: int) -> BrokerConnection | None:
        """Return a broker's connection if it is usable now; otherwise start to connect.

        `on_change` is called when the attempt has succeeded or failed. A broker that cannot be
        reached may have lost its leaderships, so the metadata are refreshed.
        """
        address = self.cluster.brokers.get(node_id)
        if address is None:
            return None
        node = self._node_state(address)
        now_ms = self.runtime.now_ms()
        if node.usable is None:
            if node.attempt is None and now_ms >= node.not_before_ms:
                self._attempt(node)
            return None
        if now_ms < node.usable.throttled_until_ms:
            self._notify_at(node.usable.throttled_until_ms)
            return None
        return node.usable

    async def send(self, node_id: int, request: Request, *, kind: type[R]) -> R:
        """Send a request to one broker, after its throttle time."""
        connection = await self.connection(node_id)
        wait_ms = connection.throttled_until_ms - self.runtime.now_ms()
        if wait_ms > 0:
            await self.runtime.sleep_ms(wait_ms)
        return await connection.send(request, kind)

    async def send_to_any(self, request: Request, kind: type[R]) -> R:
        """Send a request to a reachable broker; the first response is returned.

        A broker that does not answer within its share of the time is joined by the next one.
        """
        return await self.send_built_to_any(lambda _: request, kind)

    async def send_built_to_any(self, build: BuildRequest, kind: type[R]) -> R:
        """Send, as `send_to_any`, a request that depends on the versions of its connection."""
        settings, nodes = self.settings, tuple(self._nodes_to_try())
        limit_ms = min(settings.request_timeout_ms, settings.default_api_timeout_ms)
        try:
            return await self.runtime.first_result(
                (partial(self._send_to_node, node, build, kind) for node in nodes),
                patience_ms=limit_ms / len(nodes),
                skipped=_UNREACHABLE,
            )
        except _UNREACHABLE as error:
            raise NetworkError(
                f"no broker is reachable (last error: {error}); check the bootstrap servers"
                " (--bootstrap-server, bootstrap_servers), and that a broker is running"
            ) from error

    async def _send_to_node(
        self, node: _NodeConnectionState, build: BuildRequest, kind: type[R]
    ) -> R:
        connection = await self._connected(node)
        return await connection.send(build(connection), kind)

    async def send_to_controller(self, request: Request, kind: type[R]) -> R:
        """Send a request to the active controller."""
        if self.cluster.controller_id not in self.cluster.brokers:
            await self.refresh()
        if self.cluster.controller_id == NO_NODE:
            return await self.send_to_any(request, kind)
        return await self.send(self.cluster.controller_id, request, kind=kind)

    async def retry_until_timeout(
        self, attempt: Attempt[T], *, timeout_ms: float | None = None, subject: str = "cluster"
    ) -> T:
        """Return the attempt's result; retry it while its error is retriable and time remains."""
        call = ApiCall(self.runtime, self.backoff(), lambda: asyncio.shield(self._refresh_task()))
        limit_ms = self.settings.default_api_timeout_ms if timeout_ms is None else timeout_ms
        awaited = partial(_awaited, self._node_states)
        return await call.run(attempt, limit_ms=limit_ms, subject=subject, awaited=awaited)

    def backoff(self) -> ExponentialBackoff:
        """Return a new backoff with this client's settings."""
        settings = self.settings
        return ExponentialBackoff(
            settings.retry_backoff_ms,
            settings.retry_backoff_max_ms,
            random=self.runtime.random,
        )

    async def _ensure_metadata(self, name: str) -> None:
        """Request a topic's metadata, unless it is cached."""
        state = self.cluster.topics.get(name)
        if name not in self.topics or state is None or state.error_code or not state.partitions:
            if name not in self.topics and self._refreshing is not None:
                await asyncio.shield(self._refreshing)  # the request under way lacks this topic
            self.topics.use(name)
            await self.refresh()
        self.topics.use(name)

    def _refresh_task(self) -> asyncio.Task[KafkaError | None]:
        if self._refreshing is None:
            self._refreshing = self.tasks.start(self._refresh())
            self._refreshing.add_done_callback(self._refreshed)
        return self._refreshing

    def _refreshed(self, task: asyncio.Task[KafkaError | None]) -> None:
        self._refreshing = None
        self._refreshed_ms = self.runtime.now_ms()
        if not task.cancelled():
            self.on_change()

    async def _refresh(self) -> KafkaError | None:
        tracked = self.topics.drop_idle()
        request = _metadata_request(tracked, creates_topics=self._creates_topics)
        try:
            response = await self.send_to_any(request, MetadataResponse)
        except KafkaError as error:
            return error
        before = self.cluster
        self.cluster = before.updated(response, rejected=self.rejected).only(self.topics)
        _warn_of_lower_epochs(self.rejected, before, self.cluster)
        self.rejected.clear()
        return None

    def _refresh_as_planned(self) -> None:
        self._planned = None
        if not self._is_closed:
            self._refresh_task()

    def _notify_at(self, when_ms: float) -> None:
        """Call `on_change` at that time."""
        self.runtime.scheduler.call_at(when_ms, lambda: self.on_change())  # noqa: PLW0108 - the present one

    def _node_state(self, address: Address) -> _NodeConnectionState:
        node = self._node_states.get(address)
        if node is None:
            node = self._node_states[address] = _NodeConnectionState(address, self.backoff())
        return node

    def _nodes_to_try(self) -> Iterator[_NodeConnectionState]:
        """Yield each node once: connected ones first, those that failed last."""
        known = [self._node_state(each) for each in self.cluster.brokers.values()]
        first = [self._node_state(each) for each in self._bootstrap]
        tried: set[Address] = set()
        now_ms = self.runtime.now_ms()
        ordered = sorted(
            (*known, *first), key=lambda each: (each.usable is None, each.not_before_ms > now_ms)
        )
        for node in ordered:
            if node.address not in tried:
                tried.add(node.address)
                yield node

    async def _connected(self, node: _NodeConnectionState) -> BrokerConnection:
        if node.usable is None:
            error = await asyncio.shield(node.attempt or self._attempt(node))
            if error is not None:
                raise error
        made = node.usable
        if made is None:
            raise NetworkError(f"the connection to {node.address} broke at once")
        return made

    def _attempt(self, node: _NodeConnectionState) -> asyncio.Task[KafkaError | None]:
        node.attempt = self.tasks.start(self._open(node))
        return node.attempt

    async def _open(self, node: _NodeConnectionState) -> KafkaError | None:
        """Connect, and return the error if that failed."""
        try:
            made = await self.open_connection(node.address)
        except (KafkaError, BytesError) as error:
            if not node.backoff.failures:
                _log.warning("%s; it is tried again until it answers", error)
            node.not_before_ms = self.runtime.now_ms() + node.backoff.next_ms()
            self._notify_at(node.not_before_ms)
            self.refresh_soon()
            return error if isinstance(error, KafkaError) else NetworkError(str(error))
        else:
            if node.backoff.failures:
                _log.info("broker %s can be reached again", node.address)
            node.backoff.reset()
            node.connection = made
            return None
        finally:
            node.attempt = None
            self.on_change()


def _awaited(nodes: Mapping[Address, _NodeConnectionState]) -> str:
    """Return the brokers that have not answered, as a part of a message."""
    found = [str(address) for address, each in nodes.items() if each.is_awaited]
    return f" (no answer from {', '.join(found)})" if found else ""


def _broker_at(text: str) -> Address:
    return Address.parse(text, key="bootstrap.servers")


def _no_topic(name: str, state: TopicInfo | None, number: int | None = None) -> KafkaError:
    code = UnknownTopicOrPartitionError.code if state is None else state.error_code
    if code == UnknownTopicOrPartitionError.code:
        return UnknownTopicOrPartitionError(
            f"the cluster has no topic {name!r}; create it first, or check its name"
        )
    if code:
        return error_of(code, subject=f"topic {name!r}")
    if number is not None:
        return UnknownTopicOrPartitionError(f"topic {name!r} has no partition {number}")
    return LeaderNotAvailableError(f"topic {name!r} has no partitions yet")


def _metadata_request(names: Iterable[str] | None, *, creates_topics: bool) -> MetadataRequest:
    topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=creates_topics)


def _existing(cluster: Cluster, names: Iterable[str]) -> list[TopicInfo]:
    """Return all topics; the error is that of a name that has no usable one."""
    for name in names:
        state = cluster.topics.get(name)
        if state is None or state.error_code or not state.partitions:
            raise _no_topic(name, state)
    return list(cluster.topics.values())


def _warn_of_lower_epochs(
    rejected: Iterable[tuple[str, int]], before: Cluster, after: Cluster
) -> None:
    for topic, number in rejected:
        known, adopted = before.partition(topic, number), after.partition(topic, number)
        is_same_topic = before.topic_id(topic) == after.topic_id(topic)
        if known and adopted and is_same_topic and adopted.leader_epoch < known.leader_epoch:
            _log.warning(
                "%s-%d: leader epoch %d of broker %d is adopted, below the known epoch %d of broker"
                " %d: the cluster has lost its metadata, or has restored older ones",
                topic,
                number,
                adopted.leader_epoch,
                adopted.leader,
                known.leader_epoch,
                known.leader,
            )


def _ignore_change() -> None:
    """Ignore the change: the default of `on_change`."""
