"""A group shard under test: its log as bytes, its timers, its clock, its topics."""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.coordinator_record import (
    CoordinatorRecord,
    StoredMarker,
    StoredRecord,
    decode_record,
    encode_record,
)
from cordwood.coordination.group_shard import GroupShard
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.outcome import Answer, Outcome, Ticket, TimerKey
from cordwood.coordination.runtime.internal_batches import StoredItem, decode_batches
from cordwood.coordination.topic_view import TopicFacts, Topics
from cordwood.core.errors import KafkaError
from cordwood.protocol.messages.internal import GROUP_RECORDS
from cordwood.protocol.schema import Response
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.testing.seeded_random import SeededRandom

R = TypeVar("R", bound=Response)
HOST = "/127.0.0.1"


class LoggedRecord(NamedTuple):
    """The bytes of a record, and its producer."""

    key: bytes
    value: bytes | None
    producer_id: int = -1
    producer_epoch: int = -1

    def record(self) -> CoordinatorRecord:
        """Return the decoded record."""
        found = decode_record(GROUP_RECORDS, self.key, value=self.value)
        assert found is not None, "the shard writes known types"
        return found

    def batch(self, offset: int) -> bytearray:
        """Return the record as a batch."""
        fields = BatchFields(
            base_offset=offset,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=-1 if self.producer_id < 0 else 0,
            is_transactional=self.producer_id >= 0,
        )
        builder = BatchBuilder(fields)
        builder.append(self.key, self.value, timestamp=0)
        return builder.build()


LogItem = LoggedRecord | StoredMarker


class ShardHarness:
    """One shard, run as the runtime runs it; the offset of a log item is its place in `log`."""

    def __init__(
        self, topics: Iterable[TopicFacts] = (), settings: GroupSettings | None = None
    ) -> None:
        self.settings = settings or GroupSettings()
        self.log = list[LogItem]()
        self.timers = dict[TimerKey, int]()
        self.answers = dict[Ticket, Response | KafkaError]()
        self.now_ms = 0
        self.rejection: KafkaError | None = None
        self._view = Topics(topics)
        self._random = SeededRandom(0)
        self._tickets = 0
        self.shard = self.loaded()

    def context(self, version: int, client_id: str = "c") -> ClientContext:
        """Return the context of a client's request."""
        return ClientContext(version, client_id, HOST)

    def ticket(self) -> Ticket:
        """Return the next ticket."""
        self._tickets += 1
        return Ticket(self._tickets)

    def answer(self, ticket: Ticket, kind: type[R]) -> R:
        """Return the answer of a ticket; raise the error that it is."""
        found = self.answers[ticket]
        if isinstance(found, KafkaError):
            raise found
        assert isinstance(found, kind), f"{found!r} is not a {kind.__name__}"
        return found

    def run(self, outcome: Outcome) -> list[CoordinatorRecord]:
        """Append, replay, set timers and answer; return the records."""
        outcome.completed()
        if outcome.records and self.rejection is not None:
            error, self.rejection = self.rejection, None
            self._reject(outcome, error)
            return []
        producer = (-1, -1) if outcome.producer is None else outcome.producer
        for record in outcome.records:
            self.log.append(LoggedRecord(*encode_record(record), *producer))
            self.shard.replay(StoredRecord(record, len(self.log) - 1, *producer))
        for change in outcome.timers:
            self.timers.pop(change.key, None)
            if change.at_ms is not None:
                self.timers[change.key] = change.at_ms
        self._give(outcome.answers)
        return outcome.records

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Append the marker of a transaction."""
        marker = StoredMarker(producer_id, 0, len(self.log), is_commit)
        self.log.append(marker)
        self.shard.replay_marker(marker)

    def set_topics(self, topics: Iterable[TopicFacts]) -> list[CoordinatorRecord]:
        """Change the topics of the cluster."""
        self._view = Topics(topics, version=self._view.version + 1)
        return self.run(self.shard.on_topics(self._view, self.now_ms))

    def advance(self, delay_ms: int) -> list[CoordinatorRecord]:
        """Let time pass, with the timers that are due; return the records that they write."""
        end_ms = self.now_ms + delay_ms
        records = list[CoordinatorRecord]()
        while due := [(at, key) for key, at in self.timers.items() if at <= end_ms]:
            at_ms, key = min(due, key=lambda each: each[0])
            self.now_ms = max(self.now_ms, at_ms)
            del self.timers[key]
            records += self.run(self.shard.on_timer(key, self.now_ms))
        self.now_ms = end_ms
        return records

    def reload(self, topics: Iterable[TopicFacts] | None = None) -> None:
        """Load a new shard from the bytes of the log, as another broker does."""
        if topics is not None:
            self._view = Topics(topics, version=self._view.version + 1)
        self.timers = {}
        self.shard = self.loaded()
        self.run(self.shard.finish_load(self.now_ms))

    def loaded(self) -> GroupShard:
        """Return a shard with the state of the log."""
        shard = GroupShard(self.settings, random=self._random)
        for offset, logged in enumerate(self.log):
            if isinstance(logged, StoredMarker):
                shard.replay_marker(logged)
                continue
            batch = memoryview(logged.batch(offset))
            for item in decode_batches(GROUP_RECORDS, batch, has_runs=True):
                _replay(shard, item)
        shard.on_topics(self._view, self.now_ms)
        return shard

    def _reject(self, outcome: Outcome, error: KafkaError) -> None:
        follow = Outcome()
        if outcome.on_failure is not None:
            follow = outcome.on_failure(error, self.now_ms)
        given = {each.ticket for each in follow.answers}
        self._give(
            [Answer(each.ticket, error) for each in outcome.answers if each.ticket not in given]
        )
        self.run(follow)

    def _give(self, answers: Iterable[Answer]) -> None:
        for ticket, response in answers:
            assert ticket not in self.answers, f"{ticket} is answered twice"
            self.answers[ticket] = response


def _replay(shard: GroupShard, item: StoredItem) -> None:
    if isinstance(item, StoredRecord):
        shard.replay(item)
    elif isinstance(item, StoredMarker):
        shard.replay_marker(item)
    else:
        shard.replay_run(item)
