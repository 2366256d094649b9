"""Topics with their ids and replicas (Kafka: `AdminZkClient`, `KafkaZkClient`).

A topic exists with its node. The leaderships of its partitions follow when a controller has taken
notice of it. A deletion removes these first and the topic last, together with its configuration and
the request for its deletion: otherwise the request could outlive the topic, and would delete the
next topic of this name.
"""

from collections.abc import Callable, Mapping, Sequence

from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import StoredAssignment
from cordwood.cluster.zookeeper.client.zookeeper_client import (
    CreateOp,
    DeleteOp,
    MultiOp,
    SetDataOp,
    ZooKeeperClient,
)
from cordwood.cluster.zookeeper.client.zookeeper_errors import (
    BadVersionError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
)
from cordwood.cluster.zookeeper.store.guarded_writes import ControllerGuard, GuardedWrites
from cordwood.cluster.zookeeper.store.retried_requests import RetriedRequests, turns
from cordwood.cluster.zookeeper.znodes.cluster_paths import delete_topic_path
from cordwood.cluster.zookeeper.znodes.topic_znode import decode_topic_znode, encode_topic_znode
from cordwood.core.errors import (
    InvalidPartitionsError,
    ReassignmentInProgressError,
    TopicAlreadyExistsError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.metadata_paths import (
    TOPIC,
    TOPICS,
    config_path,
    encode_texts,
    partitions_path,
    topic_path,
)
from cordwood.core.uuids import Uuid


class TopicStore:
    """The topics of the cluster."""

    def __init__(self, client: ZooKeeperClient) -> None:
        self._client = client
        self._requests = RetriedRequests(client)

    async def names(self) -> list[str]:
        """Return the names of all topics, sorted."""
        return await self._requests.children(TOPICS)

    async def read(self, topics: Sequence[str]) -> dict[str, StoredAssignment]:
        """Return topics; missing ones are left out; DamagedFileError."""
        found = dict[str, StoredAssignment]()
        for turn in turns(topics):
            nodes = await self._requests.get_all([topic_path(each) for each in turn])
            found |= {
                topic: decode_topic_znode(topic, node.data)
                for topic, node in zip(turn, nodes, strict=True)
                if node is not None
            }
        return found

    async def create(
        self, topic: str, assignment: StoredAssignment, *, configs: Mapping[str, str]
    ) -> None:
        """Store a topic with its configuration; TopicAlreadyExistsError.

        The configuration of an earlier topic of this name is replaced.
        """
        config, data = config_path(TOPIC, topic), encode_texts(configs)
        create = CreateOp(topic_path(topic), encode_topic_znode(assignment))
        writes = GuardedWrites(self._client, None)
        while True:
            exists = await self._requests.exists(config) is not None
            change = SetDataOp(config, data) if exists else CreateOp(config, data)
            try:
                await writes.apply_together([create, change])
            except NodeExistsError as error:
                if error.path != config:
                    raise TopicAlreadyExistsError(f"topic {topic} already exists") from error
            except NoNodeError as error:
                if error.path != config:
                    raise
            else:
                return

    async def write_assignment(
        self,
        topic: str,
        partitions: Mapping[int, ReplicaAssignment],
        *,
        guard: ControllerGuard | None = None,
    ) -> bool:
        """Replace the assignments of all partitions of a topic; False if it does not exist."""

        def changed(stored: StoredAssignment) -> StoredAssignment:
            return stored._replace(partitions=partitions)

        return await self._change(topic, changed, guard) is not None

    async def add_partitions(self, topic: str, added: Mapping[int, ReplicaAssignment]) -> None:
        """Add partitions to a topic, which have been planned for the stored ones.

        UnknownTopicOrPartitionError; ReassignmentInProgressError; InvalidPartitionsError if the
        topic has other partitions by now.
        """

        def changed(stored: StoredAssignment) -> StoredAssignment:
            if any(each.is_being_reassigned for each in stored.partitions.values()):
                raise ReassignmentInProgressError(
                    f"A partition reassignment is in progress for the topic '{topic}'."
                )
            if len(stored.partitions) != min(added):
                raise InvalidPartitionsError(
                    f"topic {topic} has {len(stored.partitions)} partitions by now"
                )
            return stored._replace(partitions={**stored.partitions, **added})

        if await self._change(topic, changed, None) is None:
            raise UnknownTopicOrPartitionError(f"topic {topic} does not exist")

    async def assign_ids(
        self, topics: Sequence[str], *, draw: Callable[[], Uuid], guard: ControllerGuard
    ) -> dict[str, Uuid]:
        """Store ids for topics without one; return the ids of those that exist."""
        ids = dict[str, Uuid]()
        for topic in topics:
            drawn = draw()

            def changed(stored: StoredAssignment, drawn: Uuid = drawn) -> StoredAssignment:
                return stored._replace(topic_id=stored.topic_id or drawn)

            stored = await self._change(topic, changed, guard)
            if stored is not None:
                ids[topic] = stored.topic_id or drawn
        return ids

    async def request_deletion(self, topic: str, topic_id: Uuid | None = None) -> None:
        """Leave a request for the deletion of a topic; UnknownTopicOrPartitionError.

        With an id, UnknownTopicIdError if the topic of this name has another one.
        """
        node = await self._requests.get(topic_path(topic))
        if node is None:
            raise UnknownTopicOrPartitionError(f"topic {topic} does not exist")
        stored = decode_topic_znode(topic, node.data).topic_id if topic_id is not None else None
        if stored != topic_id:
            raise UnknownTopicIdError(f"topic {topic} has been created again, with another id")
        await self._requests.create_missing([delete_topic_path(topic)])

    async def delete(self, topic: str, guard: ControllerGuard) -> None:
        """Remove a topic, its leaderships, its configuration and the request for its deletion."""
        writes = GuardedWrites(self._client, guard)
        while True:
            paths = [topic_path(topic), config_path(TOPIC, topic), delete_topic_path(topic)]
            try:
                await self._delete_below(partitions_path(topic), writes)
                nodes = await self._requests.get_all(paths)
                removals: list[MultiOp] = [
                    DeleteOp(path)
                    for path, node in zip(paths, nodes, strict=True)
                    if node is not None
                ]
                await writes.apply_together(removals)
            except (NoNodeError, NotEmptyError):
                continue
            return

    async def _delete_below(self, path: str, writes: GuardedWrites) -> None:
        """Remove a node and all below it, the lowest first."""
        paths, level = list[str](), [path]
        while level:
            paths += level
            all_names = await self._requests.all_children(level)
            level = [
                f"{parent}/{name}"
                for parent, names in zip(level, all_names, strict=True)
                for name in names
            ]
        await writes.delete_all(reversed(paths))

    async def _change(
        self,
        topic: str,
        change: Callable[[StoredAssignment], StoredAssignment],
        guard: ControllerGuard | None,
    ) -> StoredAssignment | None:
        """Change what is stored of a topic, and return it; None if it does not exist."""
        path, writes = topic_path(topic), GuardedWrites(self._client, guard)
        while True:
            node = await self._requests.get(path)
            if node is None:
                return None
            changed = change(decode_topic_znode(topic, node.data))
            operation = SetDataOp(path, encode_topic_znode(changed), node.stat.version)
            (result,) = await writes.apply([operation])
            if result.error is None:
                return changed
            if not isinstance(result.error, BadVersionError | NoNodeError):
                raise result.error
