"""A running Kafka and a group shard that get the same requests, of which some wait.

Kafka gets a request first, because it makes the ids of members: the shard then makes the same ones.
The shard decides whether a request waits. If it does, the next one is sent once Kafka has processed
it; if it does not, Kafka's answer is awaited. So is each answer that the shard gives later.

Members are in the order of a hash map in Kafka. The shard's members are put into that order before
each request, since it decides which one becomes the leader.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

from cordwood.coordination.outcome import Ticket
from cordwood.coordination.topic_view import TopicFacts
from cordwood.core.errors import RebalanceInProgressError, UnknownMemberIdError
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from cordwood.protocol.messages.delete_groups import DeleteGroupsRequest
from cordwood.protocol.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from cordwood.protocol.messages.internal import GroupMetadataValue
from cordwood.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from cordwood.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from cordwood.protocol.messages.sync_group import SyncGroupRequest
from cordwood.protocol.schema import Request, Response
from tests.interop.kafka_harness.group_log import plain_records
from tests.interop.kafka_harness.group_requests import (
    Asked,
    OnAnswer,
    comparable_answer,
    first_difference,
)
from tests.interop.kafka_harness.listed_differences import ListedDifferences
from tests.interop.kafka_harness.ordered_changes import set_group_config
from tests.interop.kafka_harness.ordered_kafka import OrderedKafka
from tests.interop.kafka_harness.ordered_shard import OrderedShard
from tests.interop.kafka_harness.raw_producer import RawProducer
from tests.unit.coordination.shard_harness import LoggedRecord

#: The time in which Kafka answers a request that does not wait, on a busy machine.
ANSWER_S: Final = 60.0

#: Static members that do not join let the time of a rebalance begin again and again.
_MOST_TIMERS: Final = 3

R = TypeVar("R", bound=Response)


class GroupTwins:
    """One group in both, and the requests of one seed."""

    def __init__(self, kafka: OrderedKafka, group_id: str) -> None:
        self.kafka = kafka
        self.group_id = group_id
        #: The listed difference that changes the next answers, so that the seed ends.
        self.difference = ""
        #: The number of answers by their kind and error code.
        self.counts = dict[tuple[str, int], int]()
        self._ours = OrderedShard(kafka, group_id)
        self._configs = dict[str, int]()
        self._differences = ListedDifferences(self._ours)
        self._waiting = dict[Ticket, Asked]()
        self._lines = list[str]()
        #: The ids that Kafka has made.
        self._ids = set[str]()

    def expect_timers(self, shortest_ms: int) -> None:
        """Note the shortest timeout: a request that takes half of it is late."""
        self._differences.timely_s = shortest_ms / 2_000

    @property
    def text(self) -> str:
        """The requests and answers so far."""
        return "\n".join((self.group_id, *self._lines))

    def ask(self, request: Request, version: int, on_answer: OnAnswer = lambda _: None) -> None:
        """Send a request to both, and compare all answers that follow from it."""
        for each in self._waiting.values():
            assert not each.lane.is_answered(), f"{self.text}\nKafka answers {each.request}"
        if self._ours.soon_ms is None:
            self._differences.ask()
        asked = Asked(
            request=request,
            version=version,
            lane=self.kafka.take_lane(),
            ticket=self._ours.ticket(),
            on_answer=on_answer,
        )
        self._lines.append(f"v{version} {request}")
        asked.lane.send(request, version)
        self._find_member_id(asked)
        had_consumers = bool(self._ours.consumer_group and self._ours.consumer_group.members)
        self._waiting[asked.ticket] = asked
        self._ask_ours(asked)
        self._compare_answers(asked)
        if had_consumers and not self.difference:
            self._take_leader()
        if asked.ticket in self._waiting:
            self._lines.append("  waits")
            self.kafka.pass_barrier()

    def let_expire(self) -> None:
        """Wait in both for the timers that are due soon, and compare what follows."""
        for _ in range(_MOST_TIMERS):
            due_ms = self._ours.soon_ms
            if self.difference or due_ms is None:
                return
            begun_s, written = time.monotonic(), self._ours.record_count
            if reason := self._differences.explanation():
                self._give_up(reason)
                return
            self._lines.append(f"{due_ms} ms pass")
            self._ours.pass_time(due_ms)
            self._compare_answers(None)
            self._wait_for_description()
            self._differences.wait(due_ms)
            if self._ours.record_count > written:
                self._wait_for_records()
            self._differences.leave_out(time.monotonic() - begun_s)

    def set_group_config(self, values: Mapping[str, int]) -> None:
        """Set the whole configuration of the group in both."""
        removed = dict.fromkeys(self._configs.keys() - values.keys())
        set_group_config(self.kafka, self.group_id, {**values, **removed})
        self._configs = dict(values)
        self._ours.shard.configs.update(self.group_id, values)
        self._lines.append(f"configs {self._configs}")

    def end_transaction(self, producer: RawProducer, *, is_commit: bool) -> None:
        """End a transaction in both, if it has begun."""
        producer_id = producer.producer_id
        if producer.end(is_commit=is_commit):
            self._ours.end_transaction(producer_id, is_commit=is_commit)
            self._lines.append(f"the transaction is {'committed' if is_commit else 'aborted'}")

    def set_topics(self, topics: Iterable[TopicFacts]) -> None:
        """Give the shard the topics that Kafka's coordinator has."""
        written = self._ours.record_count
        self._ours.set_topics(topics)
        if self._ours.record_count > written:
            self._wait_for_records()

    def finish(self) -> None:
        """Let all members leave, delete the group, and compare the records."""
        self.let_expire()
        if not self.difference:
            members = [MemberIdentity(member_id=each) for each in self._ours.member_ids]
            self.ask(LeaveGroupRequest(group_id=self.group_id, members=members), 4)
            assert not self._waiting, f"{self.text}\nstill waits"
            self._compare_records()
        if not self.difference:
            self.ask(DeleteGroupsRequest(group_names=[self.group_id]), 2)
            self._compare_records()

    # -- Kafka

    def _find_member_id(self, asked: Asked) -> None:
        """Find the member of a request, and the id that Kafka makes for one without an id."""
        match asked.request:
            case ConsumerGroupHeartbeatRequest(member_id=""):
                found = self._received(asked, ConsumerGroupHeartbeatResponse)
                asked.member_id = found.member_id or ""
            case JoinGroupRequest(member_id=""):
                asked.member_id = self._joining_member(asked)
            case JoinGroupRequest(member_id=member_id) | SyncGroupRequest(member_id=member_id):
                asked.member_id = member_id
                return
        if asked.member_id:
            self._ids.add(asked.member_id)
            self._ours.ids.add(asked.member_id)

    def _joining_member(self, asked: Asked) -> str:
        """Return the id of a member that has joined without one, of its answer or of Kafka's group.

        It has none if the answer is an error.
        """
        while not asked.lane.is_answered():
            self.kafka.pass_barrier()
            if member_id := self._new_member():
                return member_id
        return self._received(asked, JoinGroupResponse).member_id

    def _described(self) -> DescribeGroupsResponse:
        lane = self.kafka.take_lane()
        request = DescribeGroupsRequest(groups=[self.group_id])
        found = lane.ask(request, 4, answer=DescribeGroupsResponse)
        self.kafka.give_back(lane)
        return found

    def _wait_for_description(self) -> None:
        """Wait until Kafka describes the group as ours: a timer may change it without a record."""
        ours = comparable_answer(self._ours.describe(), self.group_id)
        end = time.monotonic() + ANSWER_S
        while (kafka := comparable_answer(self._described(), self.group_id)) != ours:
            assert time.monotonic() < end, f"{self.text}\nkafka: {kafka}\nours:  {ours}"
            time.sleep(0.002)

    def _new_member(self) -> str:
        """Return the member that Kafka has, and our group has not."""
        (found,) = self._described().groups
        known = {*self._ids, *self._ours.member_ids}
        return next((each.member_id for each in found.members if each.member_id not in known), "")

    def _received(self, asked: Asked, kind: type[R]) -> R:
        assert asked.lane.is_answered(ANSWER_S), f"{self.text}\nno answer to {asked.request}"
        found = asked.lane.receive(asked.version, answer=kind)
        asked.kafka = found
        return found

    # -- our shard

    def _ask_ours(self, asked: Asked) -> None:
        """Ask the shard; end the seed if it differs from Kafka in a listed way."""
        written = self._ours.record_count
        self._differences.begin()
        self._ours.ask(asked)
        difference = self._differences.of_assignment()
        answered = self._answered()
        if asked in answered and not difference:
            ends_others = len(answered) > 1
            difference = self._differences.of_answer(asked, ends_others=ends_others)
        if difference:
            self._give_up(difference)
        elif self._ours.resolve_regexes() or self._has_emptied_group(asked, written):
            self._wait_for_records()
        self._lines.append(f"  {self._ours.record_count - written} records")

    def _has_emptied_group(self, asked: Asked, written: int) -> bool:
        """Whether the last member has left.

        Kafka then ends the rebalance with a timer of 0 ms if another member has an id and has not
        joined, and a busy machine can be late with it.
        """
        has_left = isinstance(asked.request, LeaveGroupRequest)
        return has_left and self._ours.record_count > written and self._ours.is_empty_classic

    def _answered(self) -> list[Asked]:
        return [each for each in self._waiting.values() if each.ticket in self._ours.answers]

    def _wait_for_records(self) -> None:
        """Wait until Kafka has written as many records of the group."""
        count = self._ours.record_count
        end = time.monotonic() + ANSWER_S
        while len(self.kafka.log.records(self.group_id)) < count:
            if time.monotonic() > end:
                self._compare_records()
                return
            time.sleep(0.002)
        self.kafka.commit_log()

    def _take_leader(self) -> None:
        """Give a group that was converted the leader that Kafka has chosen."""
        group = self._ours.classic_group
        if group is not None:
            value = self.kafka.log.records(self.group_id)[-1].value
            assert isinstance(value, GroupMetadataValue), f"{self.text}\n{value}"
            group.leader_id = value.leader

    # -- both

    def _compare_answers(self, last: Asked | None) -> None:
        """Compare all answers that the shard has given by the last request, or by a timer."""
        for each in self._answered():
            if self.difference:
                return
            del self._waiting[each.ticket]
            self._compare(each, last)

    def _compare(self, asked: Asked, last: Asked | None) -> None:
        ours = self._ours.answer_of(asked)
        code = getattr(ours, "error_code", 0)
        if asked is not last and self._is_forgotten(asked, last, code):
            assert not asked.lane.is_answered(), f"{self.text}\nKafka answers {asked.request}"
            asked.lane.close()
            return
        kafka = comparable_answer(asked.kafka or self._received(asked, asked.answer), self.group_id)
        self.kafka.give_back(asked.lane)
        ours = comparable_answer(ours, self.group_id)
        self._lines.append(f"  {'' if asked is last else asked.request}{kafka}")
        if kafka != ours and (reason := self._differences.explanation()):
            self._give_up(reason)
            return
        assert kafka == ours, f"{self.text}\nours:\n  {ours}\n{first_difference(kafka, ours)}"
        kind = type(asked.request).__name__.removesuffix("Request"), code
        self.counts[kind] = self.counts.get(kind, 0) + 1
        asked.on_answer(kafka)

    def _is_forgotten(self, asked: Asked, last: Asked | None, code: int) -> bool:
        """Return whether Kafka never answers a request that waited.

        The member has sent another one, or has left while it waited for its assignment.
        """
        if code == RebalanceInProgressError.code:
            return last is not None and asked.repeats(last)
        return code == UnknownMemberIdError.code and isinstance(asked.request, SyncGroupRequest)

    def _compare_records(self) -> None:
        """Compare the records of the group so far."""
        written = [each.record() for each in self._ours.log if isinstance(each, LoggedRecord)]
        kafka, ours = plain_records(self.kafka.log.records(self.group_id)), plain_records(written)
        if kafka != ours and (reason := self._differences.explanation()):
            self._give_up(reason)
            return
        shorter = min(len(kafka), len(ours))
        at = next((at for at in range(shorter) if kafka[at] != ours[at]), shorter)
        assert kafka == ours, (
            f"{self.text}\nrecord {at}\nkafka: {kafka[at : at + 4]}\nours: {ours[at : at + 4]}"
        )

    def _give_up(self, reason: str) -> None:
        """End the seed before the answers differ."""
        self.difference = reason
        for each in self._waiting.values():
            each.lane.close()
        self._waiting.clear()
