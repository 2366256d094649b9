"""Topics of a cluster, stored in ZooKeeper (Kafka: `ZkAdminManager`, `AdminZkClient`).

    create   validate, place the replicas on live brokers, store; then wait for the leaders
    grow     the same for additional partitions, which follow those that are stored
    delete   leave a request for the controller; then wait until the image has the topic no more

Clients send these requests to the controller, and another broker answers NOT_CONTROLLER. That is a
rule for clients alone: any broker may write these nodes, and creates missing topics itself. The
controller takes notice of the nodes, elects the leaders and sends them to all brokers.

A change that is not in the image at the deadline has the result REQUEST_TIMED_OUT, and stays
stored. A request that has begun to store is completed, even if it is cancelled or has timed out.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

from cordwood.broker.cluster_admin.topic_purgatory import TopicPurgatory
from cordwood.broker.cluster_admin.zookeeper_outcome import zookeeper_outcome
from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_resources import topic_resource
from cordwood.broker.large_messages import ELEMENTS_PER_TURN
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import NO_LEADER, ClusterImage, TopicImage
from cordwood.broker.pending_results import next_turn, wait_for
from cordwood.broker.topics.internal_topic_settings import default_topic
from cordwood.broker.topics.request_deadline import RequestDeadline
from cordwood.broker.topics.request_tasks import RequestTasks
from cordwood.broker.topics.topic_planning import (
    Grown,
    NewPartitions,
    Planned,
    PlannedTopic,
    TopicPlanner,
)
from cordwood.broker.topics.topic_selection import TopicReference, TopicSelection, select
from cordwood.broker.topics.topic_validation import NewTopic, ensure_few_partitions
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import StoredAssignment
from cordwood.cluster.zookeeper.store.topic_store import TopicStore
from cordwood.core.errors import (
    KafkaError,
    LeaderNotAvailableError,
    NotControllerError,
    ReassignmentInProgressError,
    RequestTimedOutError,
    TopicAlreadyExistsError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.ports import Lane, Random, Worker
from cordwood.core.uuids import NO_UUID, Uuid

T = TypeVar("T")
New = TypeVar("New")

#: Topics that are planned in one loop turn.
_PER_TURN: Final = 5
#: Outcomes of a missing topic that exists, or may exist, without leaders in the image.
_WITHOUT_LEADERS_YET: Final = (PlannedTopic, RequestTimedOutError, TopicAlreadyExistsError)


class ClusterTopicManager:
    """Changes of topics by one broker of a cluster."""

    def __init__(
        self,
        store: TopicStore,
        *,
        configs: BrokerConfigs,
        metadata: MetadataCache,
        random: Random,
        worker: Worker,
        is_controller: Callable[[], bool],
    ) -> None:
        self._store = store
        self._configs = configs
        self._metadata = metadata
        self._random = random
        self._worker = worker
        self._is_controller = is_controller
        self._purgatory = TopicPurgatory(metadata)
        self._tasks = RequestTasks()

    # -- requests

    async def create(
        self,
        new: Sequence[NewTopic],
        *,
        validate_only: bool = False,
        deadline: RequestDeadline | None = None,
    ) -> list[Planned]:
        """Create topics; return the created topic or the error for each."""
        self._ensure_controller()
        outcomes = list[Planned]()
        scene = self._create(new, outcomes, validate_only=validate_only)
        outcomes = await self._tasks.outcomes_of(scene, outcomes, deadline=_limit(deadline))
        if validate_only or deadline is None:
            return outcomes
        created = [each.image for each in outcomes if isinstance(each, PlannedTopic)]
        led = await self._wait_for_leaders([(each, 0) for each in created], deadline)
        return [
            RequestTimedOutError()
            if isinstance(each, PlannedTopic) and each.image.name not in led
            else each
            for each in outcomes
        ]

    async def create_missing(self, names: Sequence[str]) -> list[Planned]:
        """Create missing topics with the broker's settings, without a wait for their leaders.

        If the session with ZooKeeper ends, all results are LEADER_NOT_AVAILABLE.
        Raises PolicyViolationError for too many names.
        """
        ensure_few_partitions(len(names))
        new = [default_topic(name, self._configs, most_replicas=None) for name in names]
        outcomes = list[Planned]()
        scene = self._create(new, outcomes, validate_only=False)
        try:
            outcomes = await self._tasks.outcomes_of(scene, outcomes, deadline=None)
        except RequestTimedOutError as error:
            outcomes = [error] * len(names)
        topics = self._metadata.image.topics
        return [
            LeaderNotAvailableError(f"{name} has no leaders yet")
            if name not in topics and isinstance(each, _WITHOUT_LEADERS_YET)
            else each
            for name, each in zip(names, outcomes, strict=True)
        ]

    async def grow(
        self,
        wanted: Sequence[NewPartitions],
        *,
        validate_only: bool = False,
        deadline: RequestDeadline | None = None,
    ) -> list[Grown]:
        """Add partitions to topics; return the grown topic or the error for each."""
        self._ensure_controller()
        outcomes, counts = list[Grown](), dict[str, int]()
        scene = self._grow(wanted, outcomes, counts, validate_only=validate_only)
        outcomes = await self._tasks.outcomes_of(scene, outcomes, deadline=_limit(deadline))
        if validate_only or deadline is None:
            return outcomes
        grown = [(each, counts[each.name]) for each in outcomes if isinstance(each, TopicImage)]
        led = await self._wait_for_leaders(grown, deadline)
        return [
            RequestTimedOutError()
            if isinstance(each, TopicImage) and each.name not in led
            else each
            for each in outcomes
        ]

    async def delete(
        self, references: Sequence[TopicReference], *, deadline: RequestDeadline | None = None
    ) -> TopicSelection:
        """Delete topics; return the deleted topics and the rejected references."""
        self._ensure_controller()
        image = self._metadata.image
        find = partial(select, references, image)
        is_large = len(references) > ELEMENTS_PER_TURN
        selection = await self._run_blocking(find) if is_large else find()
        topic_ids, rejected = {**selection.topic_ids}, [*selection.rejected]
        by_id = {each.topic_id for each in references if each.name is None}
        scene = self._delete(topic_ids, rejected, by_id=by_id)
        try:
            await self._tasks.run(scene, deadline=_limit(deadline))
        except RequestTimedOutError as error:
            return selection.rejecting_all(error)
        if deadline is not None:
            await self._purgatory.wait(lambda image: not _remaining(topic_ids, image), deadline)
            for name, topic_id in _remaining(topic_ids, self._metadata.image).items():
                del topic_ids[name]
                rejected.append((TopicReference(name, topic_id), RequestTimedOutError()))
        return TopicSelection(topic_ids, rejected)

    async def stop(self) -> None:
        """Complete the changes that have begun; no request waits for the image any more."""
        self._purgatory.close()
        await self._tasks.stop()

    def _ensure_controller(self) -> None:
        if not self._is_controller():
            raise NotControllerError

    # -- stored changes

    async def _create(
        self, new: Sequence[NewTopic], outcomes: list[Planned], *, validate_only: bool
    ) -> None:
        with zookeeper_outcome():
            # Another broker may have created topics that the image does not have yet. The image
            # keeps those that were deleted while this broker was not registered.
            names, image = await self._store.names(), self._metadata.image
            gone = image.topics.keys() - set(names)
            planner = self._planner(image.without_topic(*gone), taken=names)
            planner.check_count(new)
            outcomes += await _in_turns(planner.plan, new)
            for at, planned in enumerate(outcomes if not validate_only else ()):
                if isinstance(planned, PlannedTopic):
                    outcomes[at] = await self._store_new(planned)

    async def _store_new(self, planned: PlannedTopic) -> Planned:
        topic, texts = planned
        replicas = {
            number: ReplicaAssignment(each.replicas) for number, each in enumerate(topic.partitions)
        }
        assignment = StoredAssignment(topic.topic_id, replicas)
        try:
            await self._store.create(topic.name, assignment, configs=texts)
        except TopicAlreadyExistsError:
            return TopicAlreadyExistsError(f"Topic '{topic.name}' already exists.")
        self._configs.apply(topic_resource(topic.name), texts)
        return planned

    async def _grow(
        self,
        wanted: Sequence[NewPartitions],
        outcomes: list[Grown],
        counts: dict[str, int],
        *,
        validate_only: bool,
    ) -> None:
        """Plan and store growth; `counts` gets the stored numbers of partitions."""
        with zookeeper_outcome():
            stored = await self._store.read([each.name for each in wanted])
            counts |= {name: len(each.partitions) for name, each in stored.items()}
            topics = [_image_of(*each) for each in stored.items()]
            planner = self._planner(self._metadata.image.with_topic(*topics))

            def plan(each: NewPartitions) -> Grown:
                refusal = _refuse_growth(each.name, stored.get(each.name))
                return refusal or planner.plan_growth(each)

            outcomes += await _in_turns(plan, wanted)
            for at, planned in enumerate(outcomes if not validate_only else ()):
                if isinstance(planned, TopicImage):
                    outcomes[at] = await self._store_growth(planned, counts[planned.name])

    async def _store_growth(self, topic: TopicImage, first: int) -> Grown:
        added = {
            number: ReplicaAssignment(topic.partitions[number].replicas)
            for number in range(first, len(topic.partitions))
        }
        try:
            await self._store.add_partitions(topic.name, added)
        except KafkaError as error:
            return error.with_traceback(None)  # its frames refer to the list of the results
        return topic

    async def _delete(
        self,
        topic_ids: dict[str, Uuid],
        rejected: list[tuple[TopicReference, KafkaError]],
        *,
        by_id: Collection[Uuid],
    ) -> None:
        """Request deletions; the image may be behind a topic that was created again."""
        with zookeeper_outcome():
            for name, topic_id in tuple(topic_ids.items()):
                expected = topic_id if topic_id in by_id else None
                try:
                    await self._store.request_deletion(name, expected)
                except (UnknownTopicOrPartitionError, UnknownTopicIdError) as error:
                    del topic_ids[name]
                    rejected.append((TopicReference(name, topic_id), error.with_traceback(None)))

    async def _run_blocking(self, call: Callable[[], T]) -> T:
        return await wait_for(self._worker.submit(call, lane=Lane.METADATA))

    # -- the image

    def _planner(self, image: ClusterImage, *, taken: Iterable[str] = ()) -> TopicPlanner:
        return TopicPlanner(image, self._configs, self._random, taken=taken)

    async def _wait_for_leaders(
        self, topics: Sequence[tuple[TopicImage, int]], deadline: RequestDeadline
    ) -> set[str]:
        """Wait until all partitions of topics, from a first one on, have leaders.

        Return the names of the topics for which that is so.
        """

        def led(image: ClusterImage) -> set[str]:
            return {topic.name for topic, first in topics if _is_led(topic, first, image)}

        await self._purgatory.wait(lambda image: len(led(image)) == len(topics), deadline)
        return led(self._metadata.image)


def _limit(deadline: RequestDeadline | None) -> RequestDeadline | None:
    """Return the deadline of the stored change; one that is over limits the wait for the image."""
    return None if deadline is None or deadline.is_over() else deadline


def _is_led(topic: TopicImage, first: int, image: ClusterImage) -> bool:
    known = image.topics.get(topic.name)
    if known is None or known.topic_id != topic.topic_id:
        return False
    if len(known.partitions) < len(topic.partitions):
        return False
    added = known.partitions[first : len(topic.partitions)]
    return all(each.leader != NO_LEADER for each in added)


def _remaining(doomed: Mapping[str, Uuid], image: ClusterImage) -> dict[str, Uuid]:
    """Return the topics that the image still has; a later topic of the name has another id."""
    return {
        name: topic_id
        for name, topic_id in doomed.items()
        if name in image.topics and image.topics[name].topic_id == topic_id
    }


def _image_of(name: str, stored: StoredAssignment) -> TopicImage:
    replicas = [stored.partitions[number].replicas for number in sorted(stored.partitions)]
    return TopicImage.new(name, stored.topic_id or NO_UUID, replicas=replicas)


def _refuse_growth(name: str, stored: StoredAssignment | None) -> KafkaError | None:
    if stored is None:
        return UnknownTopicOrPartitionError(f"The topic '{name}' does not exist.")
    if any(each.is_being_reassigned for each in stored.partitions.values()):
        return ReassignmentInProgressError(
            f"A partition reassignment is in progress for the topic '{name}'."
        )
    return None


async def _in_turns(plan: Callable[[New], T], new: Iterable[New]) -> list[T]:
    """Return the plan of each, a few planned in each loop turn."""
    plans = []
    for count, each in enumerate(new, start=1):
        plans.append(plan(each))
        if count % _PER_TURN == 0:
            await next_turn()
    return plans
