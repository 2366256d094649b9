"""Consumer groups of one shard under test: log, clock, timers and topics in memory."""

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.coordinator_record import (
    CoordinatorRecord,
    decode_record,
    encode_record,
)
from cordwood.coordination.groups.classic.classic_group import GROUP_METADATA_TYPE
from cordwood.coordination.groups.classic.classic_groups import TIMERS, ClassicGroups
from cordwood.coordination.groups.consumer.consumer_group_configs import ConsumerGroupConfigs
from cordwood.coordination.groups.consumer.consumer_group_manager import ConsumerGroupManager
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.group_registry import GroupRegistry
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.outcome import Answer, Outcome, Ticket, TimerKey
from cordwood.coordination.topic_view import TopicFacts, Topics
from cordwood.core.errors import KafkaError
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.internal import (
    GROUP_RECORDS,
    GroupMetadataKey,
    GroupMetadataValue,
)
from cordwood.protocol.schema import Response
from cordwood.testing.seeded_random import SeededRandom

TICKET = Ticket(1)


def client(version: int = 1, name: str = "c") -> ClientContext:
    return ClientContext(version, name, "/127.0.0.1")


class ConsumerHarness:
    """Classic and consumer groups with one registry, run as the runtime runs a shard."""

    def __init__(self, settings: GroupSettings | None = None) -> None:
        self.settings = settings or GroupSettings()
        self.now_ms = 1_000_000
        self.log = list[tuple[bytes, bytes | None]]()
        self.timers = dict[TimerKey, int]()
        self.rejection: KafkaError | None = None
        self.topics = dict[str, TopicFacts]()
        self._version = 0
        self._made = 0
        self._new_shard()

    def _new_shard(self) -> None:
        random = SeededRandom(1)
        self.registry = GroupRegistry()
        self.classic = ClassicGroups(self.registry, self.settings, random=random)
        self.groups = ConsumerGroupManager(
            self.registry,
            ConsumerGroupConfigs(self.settings),
            classic=self.classic,
            random=random,
        )
        self.groups.on_topics(self.view)

    @property
    def view(self) -> Topics:
        return Topics(self.topics.values(), version=self._version)

    def topic(self, name: str, partitions: int) -> TopicFacts:
        """Create a topic, or give it more partitions."""
        known = self.topics.get(name)
        if known is None:
            self._made += 1
        topic_id = Uuid(self._made.to_bytes(16, "big")) if known is None else known.topic_id
        self.topics[name] = TopicFacts(name, topic_id, partitions)
        self._publish()
        return self.topics[name]

    def delete_topic(self, name: str) -> None:
        del self.topics[name]
        self._publish()

    def _publish(self) -> None:
        self._version += 1
        self.groups.on_topics(self.view)

    def group(self, group_id: str = "g") -> ConsumerGroup:
        found = self.registry.get(group_id)
        assert isinstance(found, ConsumerGroup)
        return found

    def run(self, outcome: Outcome) -> tuple[list[CoordinatorRecord], list[Answer]]:
        """Append and replay the records, set the timers; return records and answers."""
        if outcome.records and self.rejection is not None:
            error, self.rejection = self.rejection, None
            failed = Outcome()
            if outcome.on_failure is not None:
                failed = outcome.on_failure(error, self.now_ms)
            given = {each.ticket for each in failed.answers}
            others = [Answer(each.ticket, error) for each in outcome.answers]
            self._set_timers(failed)
            return [], [*failed.answers, *(each for each in others if each.ticket not in given)]
        for record in outcome.records:
            self.log.append(encode_record(record))
            self.replay(*self.log[-1])
        self._set_timers(outcome)
        return outcome.records, outcome.answers

    def _set_timers(self, outcome: Outcome) -> None:
        for change in outcome.timers:
            self.timers.pop(change.key, None)
            if change.at_ms is not None:
                self.timers[change.key] = change.at_ms

    def replay(self, key: bytes, value: bytes | None) -> None:
        record = decode_record(GROUP_RECORDS, key, value=value)
        assert record is not None
        if record.type != GROUP_METADATA_TYPE:
            self.groups.replay(record)
            return
        assert isinstance(record.key, GroupMetadataKey)
        assert record.value is None or isinstance(record.value, GroupMetadataValue)
        self.classic.replay(record.key.group, record.value)

    def reload(self) -> None:
        """Load a new shard from the log, as after a restart."""
        self._new_shard()
        self.timers.clear()
        for key, value in self.log:
            self.replay(key, value)
        self._set_timers(self.classic.finish_load(self.now_ms))
        self._set_timers(self.groups.finish_load(self.now_ms))

    def expire_next(self, until_ms: int) -> tuple[TimerKey, Outcome] | None:
        """Return the outcome of the next timer that is due until a time, None if there is none."""
        due = [(at_ms, key) for key, at_ms in self.timers.items() if at_ms <= until_ms]
        if not due:
            self.now_ms = max(self.now_ms, until_ms)
            return None
        at_ms, key = min(due)
        self.now_ms = max(self.now_ms, at_ms)
        del self.timers[key]
        owner = self.classic if key[0] in TIMERS else self.groups
        return key, owner.on_timer(key, self.now_ms)

    def answer(self, outcome: Outcome) -> Response:
        """Run an outcome, and return its only answer."""
        _, answers = self.run(outcome)
        (answer,) = answers
        if isinstance(answer.response, KafkaError):
            raise answer.response
        return answer.response
