"""Fetchers of one broker: which of them copies which partition (Kafka: `ReplicaFetcherManager`).

    follow            copy a partition from a leader, in a leader epoch
    stop_following    this broker leads the partitions now, or does not have them any longer
    use_address       a leader has another address
    pause, resume     for a quota, or while a log moves

A leader has up to `num.replica.fetchers` fetchers, each with a connection of its own. The partition
decides among them, by Kafka's hash. A fetcher begins with its first partition, and ends after its
last one. All calls are made on the loop, and return at once.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final, NamedTuple

from cordwood.cluster.channels.broker_channel import BrokerChannels
from cordwood.cluster.fetchers.fetch_counts import FetchCounts
from cordwood.cluster.fetchers.fetcher_settings import FetcherSettings
from cordwood.cluster.fetchers.remote_leader import FetchingBroker, RemoteLeader
from cordwood.cluster.fetchers.replica_fetcher_task import FetcherParts, ReplicaFetcherTask
from cordwood.cluster.partition.partition_fetch_state import FetchPhase, PartitionFetchState
from cordwood.core.address import Address
from cordwood.core.errors import KafkaError
from cordwood.core.java_hash import absolute, java_hash, signed_int32
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid


class LeaderEndpoint(NamedTuple):
    """The broker that leads, and its address for other brokers (Kafka: `BrokerEndPoint`)."""

    node_id: int
    address: Address


class _FetcherKey(NamedTuple):
    """A leader, and the number of one of its fetchers (Kafka: `BrokerIdAndFetcherId`)."""

    node_id: int
    number: int


class ReplicaFetcherManager:
    """The fetchers of one broker."""

    def __init__(
        self,
        follower: FetchingBroker,
        channels: BrokerChannels,
        settings: FetcherSettings,
        parts: FetcherParts,
    ) -> None:
        self._follower = follower
        self._channels = channels
        self._settings: Final = settings
        self._parts = parts
        self._tasks = dict[_FetcherKey, ReplicaFetcherTask]()
        self._addresses = dict[int, Address]()
        #: The fetcher of each partition.
        self._followed = dict[TopicPartition, ReplicaFetcherTask]()
        self._is_stopped = False

    # -- partitions

    def follow(
        self,
        partition: TopicPartition,
        topic_id: Uuid,
        *,
        leader: LeaderEndpoint,
        leader_epoch: int,
        is_in_sync: bool = False,
    ) -> None:
        """Copy a partition from its leader; the same epoch again restarts a failed partition.

        An older epoch than the present one has no effect. A partition without a usable log is not
        followed.
        """
        if self._is_stopped:
            return
        present = self._followed.get(partition)
        if present is not None and leader_epoch < present.states[partition].leader_epoch:
            return
        self.use_address(leader)
        key = _FetcherKey(leader.node_id, self._number_of(partition))
        task = self._tasks.get(key) or self._begin(key)
        if present is not None and present is not task:
            present.remove((partition,))
            del self._followed[partition]
        try:
            task.add(partition, topic_id, leader_epoch=leader_epoch, is_in_sync=is_in_sync)
        except KafkaError as error:
            self.stop_following((partition,))
            self._parts.on_event(f"{partition} is not copied: {error}")
        else:
            self._followed[partition] = task

    def stop_following(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop copying; an action that is under way may still change its log."""
        by_task = dict[ReplicaFetcherTask, list[TopicPartition]]()
        for each in partitions:
            task = self._followed.pop(each, None)
            if task is not None:
                by_task.setdefault(task, []).append(each)
        for task, removed in by_task.items():
            task.remove(removed)

    def pause(self, partition: TopicPartition) -> None:
        """Leave a partition out of requests until `resume`, or until it moves to another leader."""
        task = self._followed.get(partition)
        if task is not None:
            task.pause(partition)

    def resume(self, partition: TopicPartition) -> None:
        """Continue where a partition was paused."""
        task = self._followed.get(partition)
        if task is not None:
            task.resume(partition)

    def use_address(self, leader: LeaderEndpoint) -> None:
        """Send later requests for a leader to this address."""
        former = self._addresses.get(leader.node_id)
        self._addresses[leader.node_id] = leader.address
        if former is not None and former != leader.address:
            for key, task in self._tasks.items():
                if key.node_id == leader.node_id:
                    task.use(self._connect(key))

    async def stop(self) -> None:
        """Stop copying all partitions; later calls have no effect."""
        self._is_stopped = True
        self._followed.clear()
        while self._tasks:
            _, task = self._tasks.popitem()
            await task.stop()

    # -- fetchers

    def _number_of(self, partition: TopicPartition) -> int:
        """Return the number of a partition's fetcher (Kafka: `getFetcherId`)."""
        value = signed_int32(31 * java_hash(partition.topic) + partition.partition)
        return absolute(value) % self._settings.fetchers_per_leader

    def _begin(self, key: _FetcherKey) -> ReplicaFetcherTask:
        task = ReplicaFetcherTask(
            f"fetcher {key.number} of broker {key.node_id}",
            self._connect(key),
            self._parts,
            backoff_ms=self._settings.backoff_ms,
            on_end=partial(self._end, key),
        )
        self._tasks[key] = task
        return task

    def _end(self, key: _FetcherKey, task: ReplicaFetcherTask) -> None:
        if self._tasks.get(key) is task:
            del self._tasks[key]

    def _connect(self, key: _FetcherKey) -> RemoteLeader:
        name = f"broker-{self._follower.node_id}-fetcher-{key.number}"
        channel = self._channels.open(self._addresses[key.node_id], client_id=name)
        return RemoteLeader(channel, self._settings, self._follower)

    # -- metrics

    @property
    def counts(self) -> FetchCounts:
        """The counts since the start."""
        return self._parts.counts

    @property
    def fetchers(self) -> int:
        """The number of fetchers."""
        return len(self._tasks)

    def state_of(self, partition: TopicPartition) -> PartitionFetchState | None:
        """Return the state of a partition, None if it is not followed."""
        task = self._followed.get(partition)
        return None if task is None else task.states.get(partition)

    def max_lag(self) -> int:
        """Return the largest distance of a log to its leader's high watermark (Kafka: `MaxLag`)."""
        return max((each.lag or 0 for each in self._states()), default=0)

    def failed_partitions(self) -> list[TopicPartition]:
        """Return the partitions that are not copied because of an error."""
        return [
            name
            for name, task in self._followed.items()
            if task.states[name].phase is FetchPhase.FAILED
        ]

    def _states(self) -> Iterator[PartitionFetchState]:
        for name, task in self._followed.items():
            yield task.states[name]
