"""Tests of effects: each type is performed, and invalid contents are left out."""

from collections.abc import Awaitable, Callable

from cordwood.client.network.runtime import ClientRuntime
from cordwood.cluster.active_controller.broker_request_queue import BrokerAnswer
from cordwood.cluster.active_controller.controller_channel_manager import (
    ControllerChannelManager,
)
from cordwood.cluster.active_controller.controller_host import (
    BrokerEvent,
    ChangesFailed,
    ControllerReport,
    ProcessingFailed,
)
from cordwood.cluster.active_controller.controller_settings import ActiveControllerSettings
from cordwood.cluster.active_controller.effect_performer import EffectPerformer
from cordwood.cluster.controller import effects
from cordwood.cluster.controller.context.cluster_context import ControllerSettings
from cordwood.cluster.controller.effects import (
    AssignTopicIds,
    CreateLeaderships,
    Effect,
    FailedChange,
    ReadLeaderships,
    ReadRequestedElections,
    ReadRequestedReassignments,
    ReadTopics,
    ReadUncleanElections,
    ReportFailures,
    Respond,
)
from cordwood.cluster.zookeeper.store.watched_subjects import Subject
from cordwood.cluster.zookeeper.znodes.event_znodes import ConfigEntity
from cordwood.testing.seeded_random import SeededRandom
from tests.unit.cluster.active_controller.memory_channels import MemoryChannels
from tests.unit.cluster.zookeeper.store.store_values import FIRST, PARTITIONS, TOPIC
from tests.unit.cluster.zookeeper.store.store_world import StoreWorld


class PerformerWorld:
    """An elected broker with the topics `t` and `u`, and its performer."""

    def __init__(self) -> None:
        self.keeper = StoreWorld()
        self.allows_unclean = False
        self.reports = list[ControllerReport]()
        self.followed = list[Subject]()

    async def start(self) -> None:
        world = self.keeper.world
        self.member = await self.keeper.member(1)
        guard = await self.member.elected()
        self.brokers = ControllerChannelManager(
            ActiveControllerSettings(decisions=ControllerSettings(controller_id=1)),
            MemoryChannels(world),
            ClientRuntime(world.clock, world.clock, SeededRandom(1)),
            answered=self._answered,
            report=self.on_report,
        )
        self.performer = EffectPerformer(
            self.member.store,
            guard,
            self.brokers,
            followed=self,
            random=SeededRandom(2),
            host=self,
        )
        await self.member.store.topics.create("t", TOPIC, configs={})
        await self.member.store.topics.create("u", TOPIC._replace(topic_id=None), configs={})

    @staticmethod
    async def _answered(answer: BrokerAnswer) -> None:
        raise AssertionError(answer)

    async def follow(self, subject: Subject) -> None:
        self.followed.append(subject)

    def is_unclean_election_enabled(self) -> bool:
        return self.allows_unclean

    def on_controller_changed(self, controller_id: int | None) -> None:
        raise AssertionError(controller_id)

    def on_event(self, event: BrokerEvent) -> None:
        raise AssertionError(event)

    def on_report(self, report: ControllerReport) -> None:
        self.reports.append(report)


def play(scene: Callable[[PerformerWorld], Awaitable[None]]) -> None:
    """Run a scene after the start."""

    async def run(world: PerformerWorld) -> None:
        await world.start()
        await scene(world)

    world = PerformerWorld()
    world.keeper.run(run(world))


def test_every_type_of_effect_is_performed() -> None:
    async def scene(world: PerformerWorld) -> None:
        kinds = {
            each
            for each in vars(effects).values()
            if isinstance(each, type) and issubclass(each, Effect) and each is not Effect
        }

        assert world.performer.types() == kinds - {Respond}

    play(scene)


def test_damaged_leadership_is_left_out() -> None:
    async def scene(world: PerformerWorld) -> None:
        await world.performer.perform(CreateLeaderships(FIRST))
        await world.member.client.set("/brokers/topics/t/partitions/1/state", b"?")
        found = await world.performer.perform(ReadLeaderships(PARTITIONS))

        assert found == {each: FIRST[each] for each in PARTITIONS if each.partition != 1}
        assert [type(each) for each in world.reports] == [ProcessingFailed]

    play(scene)


def test_damaged_topic_is_left_out() -> None:
    async def scene(world: PerformerWorld) -> None:
        await world.member.client.set("/brokers/topics/u", b"?")

        assert await world.performer.perform(ReadTopics(("t", "u", "v"))) == {"t": TOPIC}

    play(scene)


def test_damaged_requests_of_administrators_are_ignored() -> None:
    async def scene(world: PerformerWorld) -> None:
        for each in ("reassign_partitions", "preferred_replica_election"):
            await world.member.client.create(f"/admin/{each}", b"?")

        assert await world.performer.perform(ReadRequestedReassignments()) == {}
        assert await world.performer.perform(ReadRequestedElections()) == ()
        assert len(world.reports) == 2
        assert world.followed == [Subject.REASSIGNMENTS, Subject.ELECTIONS]

    play(scene)


def test_unclean_elections_are_those_of_the_topic_or_else_of_the_broker() -> None:
    async def scene(world: PerformerWorld) -> None:
        key = "unclean.leader.election.enable"
        await world.member.store.configs.write((ConfigEntity("topics", "t"),), {key: "true"})
        read = ReadUncleanElections(("t", "u"))
        assert await world.performer.perform(read) == {"t": True, "u": False}

        world.allows_unclean = True
        await world.member.store.configs.write((ConfigEntity("topics", "t"),), {key: "false"})

        assert await world.performer.perform(read) == {"t": False, "u": True}

    play(scene)


def test_topic_without_an_id_gets_one() -> None:
    async def scene(world: PerformerWorld) -> None:
        drawn = await world.performer.perform(AssignTopicIds(("u",)))

        stored = (await world.member.store.topics.read(["u"]))["u"]
        assert drawn == {"u": stored.topic_id}
        assert stored.topic_id is not None

    play(scene)


def test_failed_changes_are_reported() -> None:
    async def scene(world: PerformerWorld) -> None:
        failure = FailedChange(PARTITIONS[0], 2, "online", "it is new")
        await world.performer.perform(ReportFailures([failure]))

        assert world.reports == [ChangesFailed([failure])]

    play(scene)
