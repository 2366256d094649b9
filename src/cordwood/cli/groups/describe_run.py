"""Work of `cordwood groups describe`: reads groups, offsets, log ends and waiting records."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from cordwood.cli.groups.group_rows import (
    GroupProgress,
    Row,
    member_rows,
    offset_rows,
    state_message,
    state_row,
)
from cordwood.cli.groups.group_selection import selected_groups
from cordwood.cli.groups.waiting_records import waiting_since
from cordwood.cli.terminal import print_message
from cordwood.client.admin.group_types import GroupDescription
from cordwood.client.blocking import Admin
from cordwood.client.consumer.offset_fetcher import LATEST
from cordwood.core.errors import GroupIdNotFoundError
from cordwood.core.system import SystemClock
from cordwood.core.types import TopicPartition

#: The longest wait for the records that give the lag in seconds.
READ_MS: Final = 5_000


def existing_groups(
    config: Mapping[str, object], groups: Sequence[str]
) -> tuple[list[str], list[GroupIdNotFoundError]]:
    """Return the groups that exist, and the errors of the others."""
    found, missing = list[str](), list[GroupIdNotFoundError]()
    with Admin.from_config(config) as admin:
        for group in groups:
            try:
                admin.describe_groups([group])
            except GroupIdNotFoundError as error:
                missing.append(error)
            else:
                found.append(group)
    return found, missing


def describe_offsets(
    config: Mapping[str, object], groups: Sequence[str], *, is_verbose: bool
) -> list[Row]:
    """Return the rows of all partitions of these groups, of all groups if none is given."""
    rows: list[Row] = []
    with Admin.from_config(config) as admin:
        for group in _described(admin, groups):
            progress = _progress(admin, config, group)
            now_ms = SystemClock().now_ms()
            rows += offset_rows(progress, now_ms=now_ms, is_verbose=is_verbose)
    return rows


def describe_members(
    config: Mapping[str, object], groups: Sequence[str], *, is_verbose: bool
) -> list[Row]:
    """Return the rows of all members; if one group has instance ids, all have the column."""
    with Admin.from_config(config) as admin:
        found = _described(admin, groups)
    rows = [row for each in found for row in member_rows(each, is_verbose=is_verbose)]
    titles = max(rows, key=len, default={})
    return [{title: row.get(title, "") for title in titles} for row in rows]


def describe_states(
    config: Mapping[str, object], groups: Sequence[str], *, is_verbose: bool
) -> list[Row]:
    """Return a row for each group."""
    with Admin.from_config(config) as admin:
        found = _described(admin, groups)
        brokers = {
            each.node_id: f"{each.host}:{each.port}" for each in admin.describe_cluster().brokers
        }
    return [
        state_row(each, address=brokers.get(each.coordinator, ""), is_verbose=is_verbose)
        for each in found
    ]


def _described(admin: Admin, groups: Sequence[str]) -> list[GroupDescription]:
    """Return the descriptions, and print a message about each group that is not stable."""
    found = admin.describe_groups(selected_groups(admin, groups))
    for each in found:
        message = state_message(each)
        if message is not None:
            print_message(message)
    return found


def _progress(admin: Admin, config: Mapping[str, object], group: GroupDescription) -> GroupProgress:
    committed = admin.list_group_offsets(group.group_id)
    assigned = {each for member in group.members for each in member.assignment}
    log_ends = _log_ends(admin, assigned | set(committed))
    offsets = {each: offset.offset for each, offset in committed.items()}
    return GroupProgress(
        group=group,
        committed=committed,
        log_ends=log_ends,
        waiting_since=waiting_since(config, offsets, log_ends=log_ends, timeout_ms=READ_MS),
    )


def _log_ends(admin: Admin, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the log end offsets of the partitions that have a leader."""
    existing = set(admin.list_topics(with_internal=True))
    named = {each.topic for each in partitions} & existing
    led = {
        (topic.name, each.partition)
        for topic in admin.describe_topics(sorted(named))
        for each in topic.partitions
        if each.leader >= 0
    }
    wanted: dict[tuple[str, int], int] = {each: LATEST for each in partitions if each in led}
    return {each: found.offset for each, found in admin.list_offsets(wanted).items()}
