"""Rows of `cordwood groups describe`: offsets, members and states of groups.

The lag in seconds is the age of the first record that the group has not consumed, by the record's
timestamp; it is 0 if no record is left, and None if its timestamp is unknown.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from cordwood.client.admin.group_types import GroupDescription, MemberDescription
from cordwood.client.group_offset import GroupOffset
from cordwood.core.types import TopicPartition

Row = dict[str, object]

_REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupProgress:
    """A group with its committed offsets, and the log ends of all its partitions.

    `waiting_since` is the timestamp of the first record that is not consumed, None if there is no
    such record; a partition with an unknown timestamp, or without a leader, is absent.
    """

    group: GroupDescription
    committed: Mapping[TopicPartition, GroupOffset]
    log_ends: Mapping[TopicPartition, int]
    waiting_since: Mapping[TopicPartition, int | None]

    def partitions(self) -> list[TopicPartition]:
        """Return the partitions that are committed or assigned, sorted."""
        assigned = {each for member in self.group.members for each in member.assignment}
        return sorted(assigned | set(self.committed))


def offset_rows(progress: GroupProgress, *, now_ms: int, is_verbose: bool) -> list[Row]:
    """Return a row for each partition: those of the largest assignment first, the others last."""
    members = sorted(progress.group.members, key=lambda each: -len(each.assignment))
    owned = [(each, member) for member in members for each in sorted(member.assignment)]
    assigned = {each for each, _ in owned}
    others = [(each, None) for each in progress.partitions() if each not in assigned]
    return [
        _offset_row(progress, each, member, now_ms=now_ms, is_verbose=is_verbose)
        for each, member in (*owned, *others)
    ]


def _offset_row(
    progress: GroupProgress,
    partition: TopicPartition,
    member: MemberDescription | None,
    *,
    now_ms: int,
    is_verbose: bool,
) -> Row:
    committed = progress.committed.get(partition)
    end = progress.log_ends.get(partition)
    epoch = None if committed is None or committed.leader_epoch < 0 else committed.leader_epoch
    return {
        "GROUP": progress.group.group_id,
        "TOPIC": partition.topic,
        "PARTITION": partition.partition,
        **({"LEADER-EPOCH": epoch} if is_verbose else {}),
        "CURRENT-OFFSET": None if committed is None else committed.offset,
        "LOG-END-OFFSET": end,
        "LAG": None if committed is None or end is None else end - committed.offset,
        "LAG-SECONDS": lag_seconds(progress, partition, now_ms=now_ms),
        "CONSUMER-ID": None if member is None else member.member_id,
        "HOST": None if member is None else member.host,
        "CLIENT-ID": None if member is None else member.client_id,
    }


def lag_seconds(progress: GroupProgress, partition: TopicPartition, *, now_ms: int) -> float | None:
    """Return the age of the first record that is not consumed, in seconds."""
    if partition not in progress.waiting_since:
        return None
    since = progress.waiting_since[partition]
    return 0.0 if since is None else max(0, now_ms - since) / 1000


def member_rows(group: GroupDescription, *, is_verbose: bool) -> list[Row]:
    """Return a row for each member; instance ids have a column if one member has one.

    So has the protocol if the members have different ones.
    """
    has_instances = any(each.instance_id for each in group.members)
    protocols = {each.is_upgraded for each in group.members}
    has_protocols = is_verbose and {True, False} <= protocols
    return [
        {
            "GROUP": group.group_id,
            "CONSUMER-ID": each.member_id,
            **({"GROUP-INSTANCE-ID": each.instance_id or ""} if has_instances else {}),
            "HOST": each.host,
            "CLIENT-ID": each.client_id,
            "#PARTITIONS": len(each.assignment),
            **(_assignments(group, each) if is_verbose else {}),
            **({"UPGRADED": _upgraded(each)} if has_protocols else {}),
        }
        for each in group.members
    ]


def _upgraded(member: MemberDescription) -> str | None:
    return None if member.is_upgraded is None else str(member.is_upgraded).lower()


def _assignments(group: GroupDescription, member: MemberDescription) -> Row:
    return {
        "CURRENT-EPOCH": member.epoch,
        "CURRENT-ASSIGNMENT": assignment_text(member.assignment),
        "TARGET-EPOCH": group.assignment_epoch,
        "TARGET-ASSIGNMENT": assignment_text(member.target_assignment or ()),
    }


def assignment_text(partitions: Iterable[TopicPartition]) -> str | None:
    """Return partitions as `orders:0,1;returns:0`, None if there are none."""
    topics = groupby(sorted(partitions), key=attrgetter("topic"))
    texts = [
        f"{topic}:{','.join(str(each.partition) for each in found)}" for topic, found in topics
    ]
    return ";".join(texts) or None


def state_row(group: GroupDescription, *, address: str, is_verbose: bool) -> Row:
    """Return the state of a group with the address of its coordinator."""
    epochs = {"GROUP-EPOCH": group.group_epoch, "TARGET-ASSIGNMENT-EPOCH": group.assignment_epoch}
    return {
        "GROUP": group.group_id,
        "COORDINATOR (ID)": f"{address} ({group.coordinator})",
        "ASSIGNMENT-STRATEGY": group.assignor or None,
        "STATE": group.state,
        **(epochs if is_verbose else {}),
        "#MEMBERS": len(group.members),
    }


def state_message(group: GroupDescription) -> str | None:
    """Return a message about a group that is not stable, None about one that is."""
    if group.state in _REBALANCING:
        return f"group {group.group_id!r}: is rebalancing"
    if group.state == "Empty":
        return f"group {group.group_id!r}: has no active members"
    return None
