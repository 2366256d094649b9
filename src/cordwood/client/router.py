"""Which broker to ask: connections by broker, and the cluster as brokers tell of it.

    ask_any         any broker that can be reached
    ask_controller  the broker that decides about topics
    persist         a call again and again, while its errors say that this may help

A call that fails for an outdated view of the cluster is tried again with a new one. Connections are
made when they are wanted and kept until they break.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from cordwood.client.backoff import Backoff
from cordwood.client.cluster import NO_NODE, Cluster, TopicState
from cordwood.client.connection import Connection
from cordwood.client.refusals import refusal
from cordwood.client.settings import ClientSettings
from cordwood.client.surroundings import Surroundings
from cordwood.client.tasks import Tasks
from cordwood.core.address import Address
from cordwood.core.errors import (
    BrokerNotAvailableError,
    BytesError,
    KafkaError,
    LeaderNotAvailableError,
    NetworkError,
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


class _Link:
    """The way to one address: a connection, or the attempt to make one, or a pause after it."""

    def __init__(self, address: Address, backoff: Backoff) -> None:
        self.address = address
        self.backoff = backoff
        self.connection: Connection | None = None
        self.attempt: asyncio.Task[KafkaError | None] | None = None
        self.not_before_ms = 0.0

    @property
    def usable(self) -> Connection | None:
        """The connection, if requests can be sent on it."""
        made = self.connection
        return made if made is not None and made.is_usable else None


class Router:
    """One client's way to its cluster. Asking for a topic creates it where brokers do that."""

    def __init__(
        self,
        settings: ClientSettings,
        surroundings: Surroundings,
        tls: ssl.SSLContext | None,
        *,
        creates_topics: bool = True,
    ) -> None:
        self.settings = settings
        self.surroundings = surroundings
        self.cluster = Cluster()
        self.tasks = Tasks()
        self.on_change: Callable[[], object] = _nothing
        self._tls = tls
        self._bootstrap = [_broker_at(each) for each in settings.bootstrap_servers]
        self._links: dict[Address, _Link] = {}
        self._topics: set[str] = set()
        self._creates_topics = creates_topics
        self._refreshing: asyncio.Task[KafkaError | None] | None = None
        self._planned: Timer | None = None
        self._refreshed_ms = 0.0
        self._is_closed = False
        self._renewal = surroundings.scheduler.every(
            max(settings.metadata_max_age_ms, 1), self.refresh_soon
        )

    async def close(self) -> None:
        """Close every connection."""
        self._is_closed = True
        self._renewal.cancel()
        if self._planned is not None:
            self._planned.cancel()
        await self.tasks.close()
        for link in self._links.values():
            if link.connection is not None:
                link.connection.close()

    # The cluster.

    async def refresh(self) -> None:
        """Ask for the cluster and the topics of interest; all who ask meanwhile share an answer."""
        error = await asyncio.shield(self._refresh_task())
        if error is not None:
            raise error

    def refresh_soon(self) -> None:
        """Have the cluster asked for, not right after the last time."""
        now_ms = self.surroundings.now_ms()
        if self._refreshing is None and self._planned is None and not self._is_closed:
            self._planned = self.surroundings.scheduler.call_at(
                max(now_ms, self._refreshed_ms + self.settings.retry_backoff_ms),
                self._refresh_as_planned,
            )

    async def topic(self, name: str, *, timeout_ms: float) -> TopicState:
        """Return a topic once it is known and has partitions."""

        async def known() -> TopicState:
            await self._know(name)
            state = self.cluster.topics.get(name)
            if state is None or state.error_code or not state.partitions:
                raise _no_topic(name, state)
            return state

        return await self.persist(known, timeout_ms=timeout_ms)

    async def leaders(
        self, partitions: Iterable[tuple[str, int]]
    ) -> dict[int, list[TopicPartition]]:
        """Return partitions by who leads them; an error names the one that nobody leads."""
        by_leader: dict[int, list[TopicPartition]] = {}
        for topic, number in partitions:
            await self._know(topic)
            state = self.cluster.topics.get(topic)
            if state is None or number not in state.partitions:
                raise _no_topic(topic, state, number)
            leader = self.cluster.leader_of(topic, number)
            if leader is None:
                raise LeaderNotAvailableError(f"{topic}-{number} has no leader for now")
            each = TopicPartition(TopicName(topic), PartitionId(number))
            by_leader.setdefault(leader, []).append(each)
        return by_leader

    async def all_topics(self) -> MetadataResponse:
        """Return what the cluster has, without taking an interest in it."""
        request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
        answer = await self.ask_any(request, MetadataResponse)
        self.cluster = self.cluster.updated(answer)
        return answer

    def forget(self, topic: str) -> None:
        """Take no interest in a topic any more."""
        self._topics.discard(topic)
        self.cluster = self.cluster.without(topic)

    def take_leaders(
        self,
        leaders: Iterable[tuple[str, int, LeaderIdAndEpoch]],
        endpoints: Iterable[NodeEndpoint],
    ) -> None:
        """Take the leaders that a broker has named in place of itself."""
        addresses = {each.node_id: Address(each.host, each.port) for each in endpoints}
        for topic, number, told in leaders:
            self.cluster = self.cluster.with_leader(
                topic,
                number,
                leader=told.leader_id,
                leader_epoch=told.leader_epoch,
                address=addresses.get(told.leader_id),
            )

    # Requests.

    async def connection(self, node_id: int) -> Connection:
        """Return a connection to a broker; NetworkError if it cannot be had."""
        address = self.cluster.brokers.get(node_id)
        if address is None:
            raise BrokerNotAvailableError(f"the cluster has no broker {node_id}")
        return await self._connected(self._link(address))

    def ready(self, node_id: int) -> Connection | None:
        """Return a broker's connection if it can be used now; else begin to make one.

        `on_change` is called when that has succeeded or failed.
        """
        address = self.cluster.brokers.get(node_id)
        if address is None:
            return None
        link = self._link(address)
        now_ms = self.surroundings.now_ms()
        if link.usable is None:
            if link.attempt is None and now_ms >= link.not_before_ms:
                self._attempt(link)
            return None
        if now_ms < link.usable.throttled_until_ms:
            self._remind(link.usable.throttled_until_ms)
            return None
        return link.usable

    async def ask(self, node_id: int, request: Request, *, kind: type[R]) -> R:
        """Ask one broker."""
        connection = await self.connection(node_id)
        wait_ms = connection.throttled_until_ms - self.surroundings.now_ms()
        if wait_ms > 0:
            await self.surroundings.pause(wait_ms)
        return await connection.ask(request, kind)

    async def ask_any(self, request: Request, kind: type[R]) -> R:
        """Ask whoever can be reached, those that are connected first."""
        reason: KafkaError | None = None
        for link in self._links_to_try():
            try:
                connection = await self._connected(link)
                return await connection.ask(request, kind)
            except NetworkError as error:
                reason = error
        assert reason is not None, "there is a broker to begin with"
        raise NetworkError(
            f"no broker could be asked; the last said: {reason};"
            " check bootstrap_servers, and that a broker is running"
        ) from reason

    async def ask_controller(self, request: Request, kind: type[R]) -> R:
        """Ask the broker that decides about topics."""
        if self.cluster.controller_id not in self.cluster.brokers:
            await self.refresh()
        if self.cluster.controller_id == NO_NODE:
            return await self.ask_any(request, kind)
        return await self.ask(self.cluster.controller_id, request, kind=kind)

    async def persist(
        self, attempt: Callable[[], Awaitable[T]], *, timeout_ms: float | None = None
    ) -> T:
        """Return what an attempt returns, tried again while that may help and there is time."""
        limit_ms = self.settings.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline_ms = self.surroundings.now_ms() + limit_ms
        backoff = self.backoff()
        while True:
            try:
                return await attempt()
            except KafkaError as error:
                pause_ms = backoff.next_ms()
                is_late = self.surroundings.now_ms() + pause_ms > deadline_ms
                if is_late and error.retriable:
                    error.add_note(f"tried for {limit_ms:.0f} ms, {backoff.failures} times")
                if is_late or not error.retriable:
                    raise
            await self.surroundings.pause(pause_ms)
            await asyncio.shield(self._refresh_task())

    def backoff(self) -> Backoff:
        """Return the pauses for something that is tried again."""
        settings = self.settings
        return Backoff(
            settings.retry_backoff_ms,
            settings.retry_backoff_max_ms,
            random=self.surroundings.random,
        )

    # How it is done.

    async def _know(self, name: str) -> None:
        """Ask for a topic unless it is known."""
        state = self.cluster.topics.get(name)
        if name not in self._topics or state is None or state.error_code or not state.partitions:
            if name not in self._topics and self._refreshing is not None:
                await asyncio.shield(self._refreshing)  # it was asked without this topic
            self._topics.add(name)
            await self.refresh()

    def _refresh_task(self) -> asyncio.Task[KafkaError | None]:
        if self._refreshing is None:
            self._refreshing = self.tasks.start(self._refresh())
            self._refreshing.add_done_callback(self._refreshed)
        return self._refreshing

    def _refreshed(self, task: asyncio.Task[KafkaError | None]) -> None:
        self._refreshing = None
        self._refreshed_ms = self.surroundings.now_ms()
        if not task.cancelled():
            self.on_change()

    async def _refresh(self) -> KafkaError | None:
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in sorted(self._topics)],
            allow_auto_topic_creation=self._creates_topics,
        )
        try:
            answer = await self.ask_any(request, MetadataResponse)
        except KafkaError as error:
            return error
        self.cluster = self.cluster.updated(answer)
        return None

    def _refresh_as_planned(self) -> None:
        self._planned = None
        if not self._is_closed:
            self._refresh_task()

    def _remind(self, when_ms: float) -> None:
        """Say that something may have changed, at that time."""
        self.surroundings.scheduler.call_at(when_ms, self._remember)

    def _remember(self) -> None:
        self.on_change()

    def _link(self, address: Address) -> _Link:
        link = self._links.get(address)
        if link is None:
            link = self._links[address] = _Link(address, self.backoff())
        return link

    def _links_to_try(self) -> Iterator[_Link]:
        """Yield what is connected, then what is known, then what to begin with; each once."""
        known = [self._link(each) for each in self.cluster.brokers.values()]
        first = [self._link(each) for each in self._bootstrap]
        tried: set[Address] = set()
        for link in sorted((*known, *first), key=lambda each: each.usable is None):
            if link.address not in tried:
                tried.add(link.address)
                yield link

    async def _connected(self, link: _Link) -> Connection:
        if link.usable is None:
            error = await asyncio.shield(link.attempt or self._attempt(link))
            if error is not None:
                raise error
        made = link.usable
        if made is None:
            raise NetworkError(f"the connection to {link.address} broke at once")
        return made

    def _attempt(self, link: _Link) -> asyncio.Task[KafkaError | None]:
        link.attempt = self.tasks.start(self._open(link))
        return link.attempt

    async def _open(self, link: _Link) -> KafkaError | None:
        """Connect, and return what went wrong."""
        made = Connection(link.address, self.settings, self.surroundings)
        try:
            await made.open(self._tls)
        except (KafkaError, BytesError) as error:
            made.close()
            link.not_before_ms = self.surroundings.now_ms() + link.backoff.next_ms()
            self._remind(link.not_before_ms)
            return error if isinstance(error, KafkaError) else NetworkError(str(error))
        except BaseException:
            made.close()
            raise
        else:
            link.backoff.succeed()
            link.connection = made
            return None
        finally:
            link.attempt = None
            self.on_change()


def _broker_at(text: str) -> Address:
    return Address.parse(text, key="bootstrap.servers")


def _no_topic(name: str, state: TopicState | None, number: int | None = None) -> KafkaError:
    code = UnknownTopicOrPartitionError.code if state is None else state.error_code
    if code == UnknownTopicOrPartitionError.code:
        return UnknownTopicOrPartitionError(
            f"the cluster has no topic {name!r}; create it first, or check its name"
        )
    if code:
        return refusal(code, subject=f"topic {name!r}")
    if number is not None:
        return UnknownTopicOrPartitionError(f"topic {name!r} has no partition {number}")
    return LeaderNotAvailableError(f"topic {name!r} has no partitions yet")


def _nothing() -> None:
    """Nobody wants to know of changes."""
