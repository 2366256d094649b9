"""Commands of the family `groups/consumer`: groups whose partitions the coordinator assigns.

    heartbeat A epoch=0 topics=foo,bar     epoch 2, assignment bar:0-2 foo:0-5
                                           records 5 3 7 6 8

An assignment of `-` is empty, and without one the response has none. `owned=foo:0,1/bar:2` is
ownership in a request, `owned=-` ownership of nothing. A record is its type, `t` its tombstone.
"""

import textwrap
from collections.abc import Iterable, Mapping

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.consumer.conversion.consumer_protocol import read_assignment
from cordwood.coordination.groups.group import CommittedPartition, OffsetCommitter
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.outcome import Outcome
from cordwood.core.errors import ERRORS_BY_CODE, KafkaError, NotCoordinatorError
from cordwood.protocol.codec import encode, joined
from cordwood.protocol.messages.consumer_group_describe import Assignment, Member
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.internal import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from cordwood.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from cordwood.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from cordwood.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from cordwood.protocol.schema import Response
from tests.scripts.transcript import ScriptError, error_name
from tests.unit.coordination.groups.consumer.consumer_harness import (
    TICKET,
    ConsumerHarness,
    client,
)

_GROUP = "g"
_LINE_LENGTH = 100
_CLASSIC_VERSION = 9
_SUBSCRIPTION_VERSION = b"\0\1"


class ConsumerGroupCommands:
    """One shard with the group g, and the names of its topics."""

    def __init__(self) -> None:
        self._harness = ConsumerHarness()
        self._ids = dict[str, str]()

    # -- the cluster

    def settings(self, **settings: str) -> None:
        """Begin again, with other settings of the broker."""
        defaults = GroupSettings()
        values: dict[str, int | str] = {
            name: int(text) if isinstance(getattr(defaults, name), int) else text
            for name, text in settings.items()
        }
        self._harness = ConsumerHarness(GroupSettings(**values))  # type: ignore[arg-type]  # by name

    def config(self, **configs: str) -> None:
        """Set the group's own configuration."""
        values = {name.replace("_", "."): int(text) for name, text in configs.items()}
        self._harness.groups.configs.update(_GROUP, values)

    def topic(self, name: str, *, partitions: int) -> None:
        """Create a topic, or add partitions."""
        self._harness.topic(name, partitions)

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        self._harness.delete_topic(name)

    def wait(self, *, time: int) -> str:
        """Let time pass; each timer that is due is a line."""
        lines, until_ms = list[str](), self._harness.now_ms + time
        while (found := self._harness.expire_next(until_ms)) is not None:
            key, outcome = found
            records, answers = self._harness.run(outcome)
            lines.append(" ".join((key[0], *map(self._name, key[2:]), *_records_of(records))))
            lines += (self._answer_of(each.response) for each in answers)
        return "\n".join(lines)

    def reload(self) -> str:
        """Load the groups from the log, as another broker does."""
        self._harness.reload()
        return self.describe()

    def reject(self) -> None:
        """Let the log reject the next append."""
        self._harness.rejection = NotCoordinatorError()

    # -- requests of the consumer protocol

    def heartbeat(  # noqa: PLR0913  # tidy: allow[parameters] the fields of the request
        self,
        member: str,
        *,
        epoch: int,
        topics: str = "",
        regex: str = "",
        owned: str = "",
        instance: str = "",
        assignor: str = "",
        timeout: int = -1,
        version: int = 1,
        host: str = "",
    ) -> str:
        """Send a heartbeat; one with epoch 0 has all required fields."""
        is_joining = epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id=_GROUP,
            member_id="" if member == "-" else member,
            member_epoch=epoch,
            instance_id=instance or None,
            rebalance_timeout_ms=300_000 if is_joining and timeout == -1 else timeout,
            subscribed_topic_names=_names(topics),
            subscribed_topic_regex="" if regex == "-" else regex or None,
            server_assignor=assignor or None,
            topic_partitions=self._owned(owned or ("-" if is_joining else "")),
        )
        outcome = self._harness.groups.consumer_group_heartbeat(
            request, client(version, host or "c"), ticket=TICKET, now_ms=self._harness.now_ms
        )
        return self._outcome(outcome)

    def resolve(self, *, denied: str = "") -> str:
        """Run the resolutions of regular expressions that are due."""
        lines = list[str]()
        denied_names = set(_names(denied) or ())
        for due in self._harness.groups.take_due_resolutions():
            resolved = due.resolve(
                self._harness.now_ms, may_describe=lambda name: name not in denied_names
            )
            outcome = self._harness.groups.on_regexes_resolved(
                due.group_id, resolved, now_ms=self._harness.now_ms
            )
            lines += [f"{regex} {_list(found.topics)}" for regex, found in resolved.items()]
            lines.append(self._outcome(outcome))
        return "\n".join(each for each in lines if each) or "nothing is due"

    def describe(self) -> str:
        """Describe the group and its members."""
        classic = self._harness.registry.by_id.get(_GROUP)
        if isinstance(classic, ClassicGroup):
            members = " ".join(sorted(map(self._name, classic.members)))
            return f"classic {classic.state_name}, generation {classic.generation}: {members}"
        found = self._harness.groups.describe(_GROUP)
        if found.error_code:
            return f"{found.error_code} {found.error_message}"
        head = (
            f"{found.group_state}, group epoch {found.group_epoch}, "
            f"assignment epoch {found.assignment_epoch}, {found.assignor_name}"
        )
        return "\n".join((head, *map(self._described, found.members)))

    def commit(self, member: str, *, epoch: int, version: int = 9, partition: str = "foo:0") -> str:
        """Check a commit of a partition, against the group alone."""
        member = self._ids.get(member, member)
        committer = OffsetCommitter(
            "" if member == "-" else member,
            None,
            epoch,
            is_transactional=False,
            api_version=version,
        )
        name, _, number = partition.partition(":")
        topic_id = self._harness.topics[name].topic_id
        check = self._harness.group().validate_offset_commit(committer)
        if check is not None:
            check(CommittedPartition(name, topic_id, int(number)))
        return "accepted" if check is None else "accepted by its assignment epoch"

    # -- requests of the classic protocol

    def join(  # noqa: PLR0913  # tidy: allow[parameters] the fields of the request
        self,
        member: str,
        *,
        topics: str,
        owned: str = "-",
        protocols: str = "range",
        instance: str = "",
        is_new: bool = False,
        protocol_type: str = "consumer",
        session: int = 10_000,
    ) -> str:
        """Send JoinGroup; `is_new=true` sends no member id and binds the name to the new one."""
        request = JoinGroupRequest(
            group_id=_GROUP,
            session_timeout_ms=session,
            rebalance_timeout_ms=60_000,
            member_id="" if is_new else self._ids.get(member, member),
            group_instance_id=instance or None,
            protocol_type=protocol_type,
            protocols=[
                JoinGroupRequestProtocol(name=each, metadata=_subscription(topics, owned))
                for each in protocols.split(",")
            ],
        )
        context, now_ms = client(_CLASSIC_VERSION), self._harness.now_ms
        if self._harness.groups.takes(_GROUP):
            outcome = self._harness.groups.join_group(
                request, context, ticket=TICKET, now_ms=now_ms
            )
        else:
            outcome = self._harness.groups.release_empty(_GROUP)
            outcome.add(
                self._harness.classic.join_group(request, context, ticket=TICKET, now_ms=now_ms)
            )
        for answer in outcome.answers if is_new else ():
            if isinstance(answer.response, JoinGroupResponse) and answer.response.member_id:
                self._ids[member] = answer.response.member_id
        return self._outcome(outcome)

    def sync(self, member: str, *, generation: int, assign: str = "", instance: str = "") -> str:
        """Send SyncGroup; `assign` are the assignments of the leader of a classic group."""
        assignments = [each.partition("~") for each in filter(None, assign.split(";"))]
        request = SyncGroupRequest(
            group_id=_GROUP,
            generation_id=generation,
            member_id=self._ids.get(member, member),
            group_instance_id=instance or None,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[
                SyncGroupRequestAssignment(
                    member_id=self._ids.get(name, name), assignment=_assignment(partitions)
                )
                for name, _, partitions in assignments
            ],
        )
        now_ms = self._harness.now_ms
        if self._harness.groups.takes(_GROUP):
            outcome = self._harness.groups.sync_group(request, ticket=TICKET, now_ms=now_ms)
        else:
            outcome = self._harness.classic.sync_group(
                request, client(5), ticket=TICKET, now_ms=now_ms
            )
        return self._outcome(outcome)

    def classic_heartbeat(self, member: str, *, generation: int, instance: str = "") -> str:
        """Send Heartbeat."""
        request = HeartbeatRequest(
            group_id=_GROUP,
            generation_id=generation,
            member_id=self._ids.get(member, member),
            group_instance_id=instance or None,
        )
        now_ms = self._harness.now_ms
        if self._harness.groups.takes(_GROUP):
            outcome = self._harness.groups.heartbeat(request, ticket=TICKET, now_ms=now_ms)
        else:
            outcome = self._harness.classic.heartbeat(
                request, client(4), ticket=TICKET, now_ms=now_ms
            )
        return self._outcome(outcome)

    def leave(self, *members: str) -> str:
        """Send LeaveGroup; `@i` is the instance id i, and `A@i` has both ids."""
        identities = [each.partition("@") for each in members]
        request = LeaveGroupRequest(
            group_id=_GROUP,
            members=[
                MemberIdentity(
                    member_id=self._ids.get(name, name), group_instance_id=instance or None
                )
                for name, _, instance in identities
            ],
        )
        outcome = self._harness.groups.leave_group(
            request, client(5), ticket=TICKET, now_ms=self._harness.now_ms
        )
        return self._outcome(outcome)

    # -- texts

    def _outcome(self, outcome: Outcome) -> str:
        records, answers = self._harness.run(outcome)
        lines = [self._answer_of(each.response) for each in answers]
        return "\n".join((*lines, *_records_of(records)))

    def _answer_of(self, response: Response | KafkaError) -> str:
        match response:
            case KafkaError():
                words = f"error {error_name(response)} {response}"
                return "\n".join(textwrap.wrap(words, _LINE_LENGTH))
            case ConsumerGroupHeartbeatResponse():
                return self._heartbeat_text(response)
            case JoinGroupResponse(error_code=0):
                leader = response.leader and self._name(response.leader)
                members = " ".join(self._name(each.member_id) for each in response.members)
                return (
                    f"generation {response.generation_id}, {response.protocol_name}, "
                    f"leader {leader or '-'}, members {members or '-'}"
                )
            case SyncGroupResponse(error_code=0):
                blob = bytes(response.assignment)
                found = read_assignment(blob).assigned_partitions if blob else []
                assigned = {each.topic: each.partitions for each in found}
                return f"assignment {_text(assigned)}"
            case LeaveGroupResponse():
                codes = [each.error_code for each in response.members]
                return f"left {' '.join(map(_error_of, codes))}"
            case JoinGroupResponse() | SyncGroupResponse() | HeartbeatResponse():
                return _error_of(response.error_code)
        raise ScriptError(f"no text for {response!r}")

    def _heartbeat_text(self, response: ConsumerGroupHeartbeatResponse) -> str:
        epoch = f"epoch {response.member_epoch}"
        if response.assignment is None:
            return epoch
        topics = response.assignment.topic_partitions
        return f"{epoch}, assignment {self._partitions(topics)}"

    def _described(self, member: Member) -> str:
        kinds = {0: "classic", 1: "consumer"}
        head = f"{self._name(member.member_id)} epoch {member.member_epoch}"
        has, target = self._named(member.assignment), self._named(member.target_assignment)
        return f"{head}, {kinds[member.member_type]}, has {has}, target {target}"

    def _named(self, assignment: Assignment) -> str:
        return _text({each.topic_name: each.partitions for each in assignment.topic_partitions})

    def _partitions(self, topics: Iterable[TopicPartitions]) -> str:
        names = {each.topic_id: each.name for each in self._harness.topics.values()}
        return _text({names[each.topic_id]: each.partitions for each in topics})

    def _owned(self, text: str) -> list[TopicPartitions] | None:
        if not text:
            return None
        return [
            TopicPartitions(topic_id=self._harness.topics[name].topic_id, partitions=numbers)
            for name, numbers in _parsed(text).items()
        ]

    def _name(self, member_id: str) -> str:
        """Return the name of a member whose id the coordinator has made."""
        known = {made: name for name, made in self._ids.items()}
        return known.get(member_id, member_id)


def _names(text: str) -> list[str] | None:
    if not text:
        return None
    return [] if text == "-" else text.split(",")


def _parsed(text: str) -> dict[str, list[int]]:
    """Return the partitions of `foo:0-2,4/bar:1`."""
    found = dict[str, list[int]]()
    for each in text.split("/") if text != "-" else ():
        name, _, numbers = each.partition(":")
        found[name] = []
        for part in numbers.split(","):
            first, _, last = part.partition("-")
            found[name] += range(int(first), int(last or first) + 1)
    return found


def _text(partitions: Mapping[str, Iterable[int]]) -> str:
    """Return partitions as `bar:1 foo:0-2,4`, or `-`."""
    return " ".join(f"{name}:{_ranges(partitions[name])}" for name in sorted(partitions)) or "-"


def _ranges(numbers: Iterable[int]) -> str:
    runs = list[list[int]]()
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _list(names: Iterable[str]) -> str:
    return " ".join(sorted(names)) or "-"


def _records_of(records: Iterable[CoordinatorRecord]) -> list[str]:
    types = [f"{each.type}{'t' if each.value is None else ''}" for each in records]
    return [f"records {' '.join(types)}"] if types else []


def _error_of(code: int) -> str:
    return "ok" if code == 0 else f"error {error_name(ERRORS_BY_CODE[code]())}"


def _subscription(topics: str, owned: str) -> bytes:
    message = ConsumerProtocolSubscription(
        topics=_names(topics) or [],
        owned_partitions=[
            TopicPartition(topic=name, partitions=numbers)
            for name, numbers in _parsed(owned).items()
        ],
    )
    return _SUBSCRIPTION_VERSION + joined(encode(message, 1))


def _assignment(text: str) -> bytes:
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            TopicPartition(topic=name, partitions=numbers)
            for name, numbers in _parsed(text).items()
        ]
    )
    return _SUBSCRIPTION_VERSION + joined(encode(message, 1))
