"""Creation, growth and deletion of topics (Kafka: `ReplicationControlManager`).

    create   validate, choose the log directories, store all of it in the metadata; then create the
             logs, and publish; a topic that a response reports survives a crash
    grow     the same for additional partitions
    delete   remove from the metadata first; then rename the directories of the logs and sync these
             renames; the files are removed later

Decisions and stores run one at a time. Logs are created, and renames synced, between two changes
of the metadata, so that other changes go on meanwhile; the topics are busy for that time. A request
that has begun is completed even if it is cancelled or has timed out: no topic is half created.

A log that had to be created in another directory than the stored one is corrected by a second
store. A log that cannot be created does not undo its topic: the partition has no leader, and
`retry` creates the log when the disk allows it.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, TypeVar

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_resources import topic_resource
from cordwood.broker.hosting.metadata_publisher import MetadataPublisher
from cordwood.broker.hosting.partition_additions import (
    PartitionAdditions,
    PlacedPartitions,
    TopicAddition,
    store_placed,
)
from cordwood.broker.hosting.topic_hosting import TopicHosting
from cordwood.broker.large_messages import ELEMENTS_PER_TURN
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import TopicImage, without_leaders
from cordwood.broker.metadata.metadata_writer import MetadataChange, MetadataWriter
from cordwood.broker.pending_results import next_turn, wait_until_done
from cordwood.broker.topics import topic_node_changes
from cordwood.broker.topics.busy_topics import TopicWork
from cordwood.broker.topics.internal_topic_settings import default_topic
from cordwood.broker.topics.missing_logs import MissingLogs
from cordwood.broker.topics.request_deadline import RequestDeadline
from cordwood.broker.topics.topic_planning import (
    Grown,
    NewPartitions,
    Planned,
    PlannedTopic,
    TopicPlanner,
)
from cordwood.broker.topics.topic_selection import TopicReference, TopicSelection, select
from cordwood.broker.topics.topic_turns import TopicTurns, Turn
from cordwood.broker.topics.topic_validation import NewTopic, ensure_few_partitions
from cordwood.core.errors import RequestTimedOutError
from cordwood.core.ports import Random
from cordwood.storage.log.log import Log
from cordwood.storage.manager.log_renames import LogDeletion

T = TypeVar("T")
New = TypeVar("New")

#: Topics that are planned in one loop turn.
_PER_TURN: Final = 5


class TopicManager:
    """All changes of topics on this broker; called on the thread that owns the logs.

    A request raises RequestTimedOutError if its deadline comes before its turn.
    """

    def __init__(
        self,
        writer: MetadataWriter,
        *,
        configs: BrokerConfigs,
        metadata: MetadataCache,
        hosting: TopicHosting,
        random: Random,
    ) -> None:
        self._configs = configs
        self._metadata = metadata
        self._hosting = hosting
        self._random = random
        self._turns = TopicTurns(writer)
        self._publisher = MetadataPublisher(metadata, hosting)
        self._additions = PartitionAdditions(writer, self._publisher, hosting)
        self._missing = MissingLogs(
            writer, metadata, hosting, publisher=self._publisher, busy=self._turns.busy
        )
        hosting.manager.on_lost(self._remove_lost_leaders)

    # -- requests

    async def create(
        self,
        new: Sequence[NewTopic],
        *,
        validate_only: bool = False,
        deadline: RequestDeadline | None = None,
    ) -> list[Planned]:
        """Create topics; return the created topic or the error for each."""
        turn = self._turns.after_deletions([each.name for each in new], deadline)
        outcomes: list[Planned] = []
        scene = self._create(new, outcomes, turn, validate_only=validate_only)
        return await self._turns.outcomes_of(scene, outcomes, deadline=deadline)

    async def create_missing(self, names: Sequence[str]) -> list[Planned]:
        """Create missing topics with the broker's settings (Kafka: `AutoTopicCreationManager`).

        Waits for a creation that is in progress. Raises PolicyViolationError for too many names.
        """
        ensure_few_partitions(len(names))
        brokers = len(self._metadata.image.brokers)
        new = [default_topic(name, self._configs, most_replicas=brokers) for name in names]
        turn = self._turns.alone([each.name for each in new])
        outcomes: list[Planned] = []
        scene = self._create(new, outcomes, turn, validate_only=False)
        return await self._turns.outcomes_of(scene, outcomes, deadline=None)

    async def grow(
        self,
        wanted: Sequence[NewPartitions],
        *,
        validate_only: bool = False,
        deadline: RequestDeadline | None = None,
    ) -> list[Grown]:
        """Add partitions to topics; return the grown topic or the error for each."""
        turn = self._turns.alone([each.name for each in wanted], deadline)
        outcomes: list[Grown] = []
        scene = self._grow(wanted, outcomes, turn, validate_only=validate_only)
        return await self._turns.outcomes_of(scene, outcomes, deadline=deadline)

    async def delete(
        self, references: Sequence[TopicReference], *, deadline: RequestDeadline | None = None
    ) -> TopicSelection:
        """Delete topics; return the deleted topics and the rejected references."""
        turn = self._turns.alone_with(references, deadline)
        selections: list[TopicSelection] = []
        scene = self._delete(references, selections, turn)
        try:
            await self._turns.run(scene, deadline=deadline)
        except RequestTimedOutError as error:
            if not selections:
                raise
            return selections[0].rejecting_all(error)
        return selections[0]

    async def retry(self) -> None:
        """Create logs that could not be created earlier, a few at a time, until one fails."""
        await self._turns.run(self._missing.create())

    async def stop(self) -> None:
        """Wait until all changes that have begun are complete; no request may follow."""
        await self._turns.stop()

    # -- creation and growth

    async def _create(
        self, new: Sequence[NewTopic], outcomes: list[Planned], turn: Turn, *, validate_only: bool
    ) -> None:
        async with turn as change:
            outcomes += await self._plan(new, change)
            planned = [each for each in outcomes if isinstance(each, PlannedTopic)]
            if validate_only or not planned:
                return
            placed = await self._store_new(planned, change)
            topics = [topic for topic, _ in planned]
            work = self._turns.busy.begin(topics, TopicWork.CREATION)
        with work:
            await self._additions.complete(placed)

    async def _store_new(
        self, planned: Sequence[PlannedTopic], change: MetadataChange
    ) -> PlacedPartitions:
        """Store new topics with their directories, then apply their configurations."""
        additions = [TopicAddition(topic, 0) for topic, _ in planned]
        placed = await self._additions.place(additions, change)
        creation = partial(
            topic_node_changes.creation, planned=planned, directories=placed.directories
        )
        await store_placed(placed, change, changes=creation)
        for topic, texts in planned:
            self._configs.apply(topic_resource(topic.name), texts)
            await change.yield_turn()
        return placed

    async def _grow(
        self,
        wanted: Sequence[NewPartitions],
        outcomes: list[Grown],
        turn: Turn,
        *,
        validate_only: bool,
    ) -> None:
        async with turn as change:
            outcomes += await self._plan_growth(wanted, change)
            grown = [each for each in outcomes if isinstance(each, TopicImage)]
            if validate_only or not grown:
                return
            topics = self._metadata.image.topics
            additions = [TopicAddition(each, len(topics[each.name].partitions)) for each in grown]
            placed = await self._additions.place(additions, change)
            growth = partial(
                topic_node_changes.growth, grown=additions, directories=placed.directories
            )
            await store_placed(placed, change, changes=growth)
            work = self._turns.busy.begin(grown, TopicWork.GROWTH)
        with work:
            await self._additions.complete(placed)

    async def _plan(self, new: Sequence[NewTopic], change: MetadataChange) -> list[Planned]:
        planner = TopicPlanner(
            self._metadata.image, self._configs, self._random, taken=self._turns.busy.created()
        )
        planner.check_count(new)
        return await _in_turns(planner.plan, new, change)

    async def _plan_growth(
        self, wanted: Sequence[NewPartitions], change: MetadataChange
    ) -> list[Grown]:
        planner = TopicPlanner(self._metadata.image, self._configs, self._random)
        return await _in_turns(planner.plan_growth, wanted, change)

    # -- deletion

    async def _delete(
        self, references: Sequence[TopicReference], selections: list[TopicSelection], turn: Turn
    ) -> None:
        async with turn as change:
            image = self._metadata.image
            found = partial(select, references, image)
            is_large = len(references) > ELEMENTS_PER_TURN
            selections.append(await change.run_blocking(found) if is_large else found())
            doomed = [image.topics[name] for name in selections[0].topic_ids]
            if not doomed:
                return
            await change.store(partial(topic_node_changes.deletion, doomed=doomed))
            names = [topic.name for topic in doomed]
            await self._publisher.publish_in_turns(
                lambda image: image.without_topic(*names), change
            )
            deletion = await self._rename_logs(doomed, change)
            work = self._turns.busy.begin(doomed, TopicWork.DELETION)
        with work:
            for sync in deletion.begin_sync():
                await wait_until_done(sync)
            for _ in deletion.finish():
                await next_turn()

    async def _rename_logs(
        self, doomed: Sequence[TopicImage], change: MetadataChange
    ) -> LogDeletion:
        """Rename the logs of topics that are not served any more, one a loop turn."""
        hosting = self._hosting
        deletion = LogDeletion(hosting.manager)
        for topic in doomed:
            for partition in topic.names():
                hosting.delete_log(partition, deletion)
                await change.yield_turn()
            self._configs.apply(topic_resource(topic.name), {})
        for job in deletion.jobs:
            await wait_until_done(job)
        for error in deletion.rename():
            if error is not None:
                hosting.report_remains(error)
            await change.yield_turn()
        return deletion

    # -- lost logs

    def _remove_lost_leaders(self, logs: Iterable[Log]) -> None:
        """Publish that the partitions of lost logs have no leader."""
        metadata = self._metadata
        topics, lost = metadata.image.topics, [log.partition for log in logs]
        names = dict.fromkeys(partition.topic for partition in lost)
        affected = [topics[name] for name in names if name in topics]
        if affected:
            fewer = without_leaders(affected, lost)
            self._publisher.publish(metadata.image.with_topic(*fewer))


async def _in_turns(
    plan: Callable[[New], T], new: Iterable[New], change: MetadataChange
) -> list[T]:
    """Return the plan of each, a few planned in each loop turn."""
    plans = []
    for count, each in enumerate(new, start=1):
        plans.append(plan(each))
        if count % _PER_TURN == 0:
            await change.yield_turn()
    return plans
