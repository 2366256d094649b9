"""Moves of replicas between the log directories of this broker.

Kafka: `ReplicaManager.alterReplicaLogDirs`, `ReplicaAlterLogDirsManager`.

    alter      begins a move, or cancels it: the target is the directory of the log
    continue   moves that an earlier life of the broker has begun go on with the first role

A replica that does not exist yet is created in the target later. The number of replicas that move
at a time is `num.replica.alter.log.dirs.threads`; the others wait. The limit of
`replica.alter.log.dirs.io.max.bytes.per.second` holds for all together.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.pending_results import wait_until_done
from cordwood.broker.replication.future_replica import FutureReplica, MoveEndedError, MoveParts
from cordwood.core.errors import (
    InvalidTopicError,
    KafkaError,
    KafkaStorageError,
    LogDirNotFoundError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import TopicPartition
from cordwood.storage.files.file_names import future_directory_name
from cordwood.storage.log.log import Log
from cordwood.storage.manager import future_logs
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.storage.manager.log_renames import LogDeletion

_MOST_NAME_BYTES: Final = 255
_TOKEN: Final = bytes(16)

StoreDirectory = Callable[[TopicPartition], Awaitable[object]]


async def store_nothing(_: TopicPartition) -> None:
    """Store no directory: a cluster with ZooKeeper knows none."""


class ReplicaAlterLogDirsManager:
    """The moves of one broker; `moved` stores the new directory of a replica."""

    def __init__(
        self,
        partitions: HostedPartitions,
        parts: MoveParts,
        *,
        threads: int,
        on_event: Callable[[str], object],
        moved: StoreDirectory = store_nothing,
    ) -> None:
        self._partitions = partitions
        self._manager = parts.manager
        self._parts = parts._replace(replaced=self._replace)
        self._on_event = on_event
        self._moved = moved
        self._places = asyncio.Semaphore(threads)
        self._turn = asyncio.Lock()
        self._moves = dict[TopicPartition, asyncio.Task[None]]()
        partitions.on_role(self._continue)

    def start(self) -> None:
        """Continue the moves that an earlier life of the broker has begun."""
        for partition in [*self._manager.futures]:
            self._continue(partition)

    async def stop(self) -> None:
        """Stop all moves; the next life of the broker continues them."""
        moves, self._moves = self._moves, {}
        for task in moves.values():
            task.cancel()
        await asyncio.gather(*moves.values(), return_exceptions=True)

    async def alter(self, partition: TopicPartition, path: str) -> None:
        """Begin to move a replica to a log directory; KafkaError if it cannot move there."""
        directory = self._target(partition, path)
        async with self._turn:
            future = self._manager.future.get(partition)
            if future is not None and self._manager.directory_of(future) is not directory:
                await self._cancel(partition)
            current = self._current(partition, directory)
            if self._manager.directory_of(current) is directory:
                return
            if self._manager.future.get(partition) is None:
                await self._create(partition, directory)
            self._continue(partition)

    # -- checks

    def _target(self, partition: TopicPartition, path: str) -> LogDirectory:
        directory = self._manager.find_directory(path)
        if len(future_directory_name(partition, _TOKEN)) > _MOST_NAME_BYTES:
            raise InvalidTopicError(f"{partition}: the name of the topic is too long for a move")
        if directory is None:
            raise LogDirNotFoundError(f"{path} is not one of log.dirs")
        directory.ensure_online()
        return directory

    def _current(self, partition: TopicPartition, directory: LogDirectory) -> Log:
        """Return the log; one that does not exist is created in the directory later."""
        try:
            self._partitions.get(*partition)
        except UnknownTopicOrPartitionError:
            self._manager.preferred[partition] = directory
            raise
        return self._manager.current.require(partition)

    # -- changes

    async def _create(self, partition: TopicPartition, directory: LogDirectory) -> None:
        manager = self._manager
        if not manager.is_whole:
            outages = "; ".join(each.outage for each in manager.directories if each.outage)
            raise KafkaStorageError(f"{partition} may have a copy in a lost directory: {outages}")
        created = future_logs.begin_creation(
            manager, partition, directory=directory, topic_id=manager.topic_id(partition)
        )
        await wait_until_done(created)
        future_logs.add(manager, created, directory=directory)

    async def _cancel(self, partition: TopicPartition) -> None:
        """Stop a move and delete its copy."""
        task = self._moves.pop(partition, None)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        if partition not in self._manager.futures:
            return  # the move has ended meanwhile
        deletion = LogDeletion(self._manager)
        deletion.add_future(partition)
        for job in deletion.jobs:
            await wait_until_done(job)
        for error in deletion.rename():
            if error is not None:
                raise error
        for sync in deletion.begin_sync():
            await wait_until_done(sync)
        for errors in deletion.finish():
            if errors:
                raise errors[0]

    def _continue(self, partition: TopicPartition) -> None:
        """Begin the task of a move, unless it runs."""
        is_moving = partition in self._manager.futures and partition in self._manager.logs
        if is_moving and partition not in self._moves:
            task = asyncio.get_running_loop().create_task(self._move(partition))
            self._moves[partition] = task
            copy = self._manager.futures[partition]
            task.add_done_callback(lambda done: self._end(partition, done, copy=copy))

    def _end(self, partition: TopicPartition, task: "asyncio.Task[None]", *, copy: Log) -> None:
        """Begin the next move, if the topic was created again while this one was ending."""
        if self._moves.get(partition) is task:
            del self._moves[partition]
            if self._manager.future.get(partition) is not copy:
                self._continue(partition)

    async def _move(self, partition: TopicPartition) -> None:
        async with self._places:
            try:
                move = FutureReplica(partition, self._parts)
                try:
                    await move.run()
                finally:
                    move.release()
                await self._moved(partition)
            except MoveEndedError as error:
                self._on_event(str(error))
            except KafkaError as error:
                self._on_event(f"{partition} does not move: {error}; request it again")
            else:
                where = self._manager.current.require(partition).directory
                self._on_event(f"{partition} has moved to {where}")

    def _replace(self, log: Log) -> None:
        try:
            self._partitions.get(*log.partition).replace_log(log)
        except UnknownTopicOrPartitionError:
            return  # its role has ended
