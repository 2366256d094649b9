"""Commands of the family `groups/classic`: groups whose leader assigns the partitions.

Clients have names, and remember their member id and their generation. `a-1` is the first id of the
client a, or of the instance a. The outcome of a command has the records, the answers that were
given, also those of earlier commands, and the state of the group:

    PreparingRebalance, generation 1: a-1 b-1, waiting a-1, given out c-1

The members are a-1 and b-1, the request of a-1 waits, and c-1 was given out with an error 79.
"""

from dataclasses import replace

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.group import OffsetCommitter
from cordwood.coordination.groups.group_registry import GroupFilter, GroupPage
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.outcome import Ticket
from cordwood.core.errors import ERRORS_BY_CODE, KafkaError, NotCoordinatorError
from cordwood.protocol.messages.internal import GroupMetadataValue
from cordwood.protocol.messages.join_group import JoinGroupResponse
from cordwood.protocol.messages.leave_group import LeaveGroupResponse, MemberIdentity
from cordwood.protocol.messages.sync_group import SyncGroupResponse
from tests.scripts.transcript import ScriptError, error_name
from tests.unit.coordination.groups.classic.classic_samples import (
    GROUP,
    ClassicHarness,
    Client,
    leave,
    subscription,
)

_UUID_LENGTH = 37  # with the hyphen before it


class ClassicGroupCommands:
    """One shard with the group g."""

    def __init__(self) -> None:
        self._harness = ClassicHarness()
        self._clients = dict[str, Client]()
        self._waiting = dict[Ticket, str]()
        self._aliases = dict[str, str]()
        self._records = 0

    # -- broker and clients

    def settings(self, *, max_size: int) -> None:
        """Begin again, with other settings of the broker."""
        self._harness = ClassicHarness(GroupSettings(max_size=max_size))

    def client(  # noqa: PLR0913  # tidy: allow[parameters] the fields of the requests
        self,
        name: str,
        *,
        version: int = 9,
        instance: str = "",
        session: int = 10_000,
        rebalance: int = 60_000,
        type: str = "consumer",  # noqa: A002  the word of the scripts
        protocols: str = "range",
        topics: str = "t",
    ) -> None:
        """Set what a client sends; it keeps its member id."""
        metadata = subscription(*topics.split(",")) if type == "consumer" else topics.encode()
        old = self._clients.get(name)
        self._clients[name] = Client(
            harness=self._harness,
            name=name,
            version=version,
            instance_id=instance or None,
            session_timeout_ms=session,
            rebalance_timeout_ms=rebalance,
            protocol_type=type,
            protocols={each: metadata for each in protocols.split(",") if each},
            member_id=old.member_id if old else "",
            generation=old.generation if old else -1,
        )

    def restart(self, name: str) -> None:
        """Start a client again, which has forgotten its member id."""
        self._clients[name] = replace(self._clients[name], member_id="", generation=-1)

    def wait(self, time: int) -> str:
        """Let time pass."""
        self._harness.advance(time)
        return self._outcome()

    def reject(self) -> None:
        """Let the log reject the next append."""
        self._harness.reject(NotCoordinatorError())

    def reload(self, *, max_size: int = 0) -> str:
        """Load the group from the log, as the next coordinator does, with its own settings."""
        if max_size:
            self._harness.settings = replace(self._harness.settings, max_size=max_size)
        self._harness.reload()
        return self._outcome()

    def close(self) -> None:
        """End the script."""

    def resign(self) -> str:
        """End the leadership of the partition."""
        self._harness.run(self._harness.groups.close(NotCoordinatorError()))
        return self._outcome()

    # -- requests

    def join(self, name: str, *, once: bool = False, group: str = GROUP) -> str:
        """Send JoinGroup, and again with the id of an error 79, unless `once=true`."""
        client = self._client(name)
        ticket = client.send_join("" if group == "-" else group)
        self._waiting[ticket] = name
        response = self._harness.response(ticket)
        if isinstance(response, JoinGroupResponse) and response.error_code == 79:
            lines = self._events()
            client.member_id = response.member_id
            if once:
                return "\n".join((*lines, self._state()))
            # The id of the first response is that of the second one.
            return "\n".join((*lines[:-1], self.join(name, group=group)))
        return self._outcome()

    def sync(self, name: str, *, assign: str = "", generation: int = -1) -> str:
        """Send SyncGroup; `assign=a:t-0,b:t-1` are the assignments of a leader."""
        client = self._client(name)
        if generation >= 0:
            client = replace(client, generation=generation)
        pairs = (each.partition(":") for each in assign.split(",") if each)
        given = {self._client(who).member_id: what.encode() for who, _, what in pairs}
        self._waiting[client.sync(given)] = name
        return self._outcome()

    def heartbeat(self, name: str, *, generation: int = -1) -> str:
        """Send Heartbeat."""
        client = self._client(name)
        if generation >= 0:
            client = replace(client, generation=generation)
        return _result(client.heartbeat())

    def leave(self, *names: str) -> str:
        """Send one LeaveGroup for several clients."""
        clients = [self._client(name) for name in names]
        members = [
            MemberIdentity(member_id=each.member_id, group_instance_id=each.instance_id)
            for each in clients
        ]
        return self._left(leave(self._harness, *members), names)

    def remove(self, *instances: str) -> str:
        """Send one LeaveGroup for several instances, as an administrator does."""
        members = [MemberIdentity(member_id="", group_instance_id=each) for each in instances]
        return self._left(leave(self._harness, *members), instances)

    def commit(self, name: str = "", *, generation: int = -1, transactional: bool = False) -> str:
        """Check a commit of offsets by a client, or by none; it keeps the session of a member."""
        client = self._clients.get(name)
        epoch = client.generation if client and generation < 0 else generation
        member_id, instance_id = (client.member_id, client.instance_id) if client else ("", None)
        self._group.validate_offset_commit(
            OffsetCommitter(member_id, instance_id, epoch, transactional, api_version=9)
        )
        now_ms = self._harness.now_ms
        self._harness.run(self._harness.groups.keep_session(self._group, member_id, now_ms=now_ms))
        return "accepted"

    def delete(self) -> str:
        """Delete the group."""
        self._group.validate_delete()
        for record in self._group.tombstones():
            self._harness.replay(record)
        return "deleted"

    def describe(self, *, version: int = 6) -> str:
        """Send DescribeGroups."""
        found = self._harness.groups.describe(GROUP, ClientContext(version))
        if found.error_code:
            return f"{_result(found.error_code)}: {found.error_message}"
        protocol = found.protocol_data or "none"
        lines = [f"{found.group_state}, type {found.protocol_type or 'none'}, protocol {protocol}"]
        lines += [
            f"{self._alias(each.member_id)} {each.client_id} {each.client_host}, "
            f"metadata {len(bytes(each.member_metadata))} bytes, "
            f"assignment {_text(bytes(each.member_assignment))}"
            for each in found.members
        ]
        return "\n".join(lines)

    def list_groups(self, *, states: str = "", types: str = "") -> str:
        """Send ListGroups with filters."""
        filters = GroupFilter.of(
            [each for each in states.split(",") if each],
            [each for each in types.split(",") if each],
        )
        registry = self._harness.registry
        found = registry.listed(GroupPage(filters, registry.by_id))
        lines = [
            f"{each.group_id}: {each.protocol_type}, {each.group_state}, {each.group_type}"
            for each in found
        ]
        return "\n".join(lines) or "none"

    def timers(self) -> str:
        """Print the timers that are set."""
        harness = self._harness
        return "\n".join(
            f"{' '.join((key[0], *map(self._alias, key[2:])))} in {at_ms - harness.now_ms} ms"
            for key, at_ms in sorted(harness.timers.items())
        )

    # -- outcomes

    @property
    def _group(self) -> ClassicGroup:
        return self._harness.group

    def _client(self, name: str) -> Client:
        if name not in self._clients:
            self.client(name)
        return self._clients[name]

    def _alias(self, member_id: str) -> str:
        """Return the short name of a member id: its prefix with a number."""
        if member_id not in self._aliases:
            prefix = member_id[:-_UUID_LENGTH]
            if not prefix:
                raise ScriptError(f"{member_id} is not a member id")
            number = sum(each.startswith(f"{prefix}-") for each in self._aliases.values()) + 1
            self._aliases[member_id] = f"{prefix}-{number}"
        return self._aliases[member_id]

    def _outcome(self) -> str:
        return "\n".join((*self._events(), self._state()))

    def _events(self) -> list[str]:
        """Return the new records, and the new answers in their order."""
        lines = [self._record(each.value) for each in self._harness.records[self._records :]]
        self._records = len(self._harness.records)
        for ticket, answer in tuple(self._harness.answers.items()):
            name = self._waiting.pop(ticket, None)
            if name is not None:
                lines.append(f"{name}: {self._answer(self._clients[name], answer.response)}")
        return lines

    def _record(self, value: object) -> str:
        assert isinstance(value, GroupMetadataValue)
        if not value.members:
            return f"record: generation {value.generation}, type {value.protocol_type or 'none'}"
        members = " ".join(
            f"{self._alias(each.member_id)}={_text(bytes(each.assignment))}"
            for each in value.members
        )
        return (
            f"record: generation {value.generation}, {value.protocol}, "
            f"leader {self._alias(value.leader or '')}, {members}"
        )

    def _answer(self, client: Client, response: object) -> str:
        if isinstance(response, KafkaError):
            return _result(response.code)
        if isinstance(response, SyncGroupResponse):
            if response.error_code:
                return _result(response.error_code)
            return f"assigned {_text(bytes(response.assignment))}"
        assert isinstance(response, JoinGroupResponse)
        if response.error_code:
            given = f", id {self._alias(response.member_id)}" if response.member_id else ""
            return f"{_result(response.error_code)}{given}"
        client.member_id, client.generation = response.member_id, response.generation_id
        members = " ".join(self._alias(each.member_id) for each in response.members)
        return (
            f"{self._alias(response.member_id)} in generation {response.generation_id}, "
            f"{response.protocol_name}, leader {self._alias(response.leader)}"
            + (f", members {members}" if members else "")
            + (", skip assignment" if response.skip_assignment else "")
        )

    def _left(self, response: LeaveGroupResponse, names: tuple[str, ...]) -> str:
        results = [
            f"{name}: {_result(each.error_code)}"
            for name, each in zip(names, response.members, strict=True)
        ]
        return "\n".join((*results, self._outcome()))

    def _state(self) -> str:
        group = self._harness.registry.by_id.get(GROUP)
        if not isinstance(group, ClassicGroup):
            return "no group"
        parts = [
            f"{group.state_name}, generation {group.generation}"
            + (f": {self._aliases_of(group.members)}" if group.members else "")
        ]
        waiting = group.waiting_joins or group.waiting_syncs
        if waiting:
            parts.append(f"waiting {self._aliases_of(waiting)}")
        if group.pending_joins:
            parts.append(f"given out {self._aliases_of(sorted(group.pending_joins))}")
        return ", ".join(parts)

    def _aliases_of(self, member_ids: object) -> str:
        assert isinstance(member_ids, dict | list)
        return " ".join(self._alias(each) for each in member_ids)


def _result(code: int) -> str:
    return error_name(ERRORS_BY_CODE[code]()) if code else "ok"


def _text(assignment: bytes) -> str:
    return assignment.decode() or "nothing"
