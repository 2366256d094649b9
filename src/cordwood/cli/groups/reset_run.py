"""Work of `cordwood groups reset-offsets`: reads offsets, decides, and commits if asked to."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cordwood.cli.arguments import absolute_path
from cordwood.cli.groups.group_selection import selected_groups
from cordwood.cli.groups.offset_plan import parse_plan
from cordwood.cli.groups.offset_reset import (
    OF_COMMITTED,
    OffsetChoices,
    ResetKind,
    ResetTarget,
    new_offsets,
    wanted_offset,
)
from cordwood.cli.groups.topic_scope import partitions_in
from cordwood.cli.terminal import print_message
from cordwood.client.blocking import Admin
from cordwood.client.consumer.offset_fetcher import EARLIEST, LATEST
from cordwood.core.errors import GroupIdNotFoundError
from cordwood.core.types import TopicPartition

if TYPE_CHECKING:
    from cordwood.client.group_offset import GroupOffset

#: States without members; a group that does not exist is created by the commit.
_INACTIVE = ("Empty", "Dead")


class ResetRequest(NamedTuple):
    """Groups (none: all), topics (none: those with offsets), target and file of a reset.

    With a file, all groups are those of the file.
    """

    groups: tuple[str, ...]
    topics: tuple[str, ...]
    target: ResetTarget
    file: str | None
    is_dry_run: bool


class ResetResult(NamedTuple):
    """The new offsets of each group, and whether a group was left out or a named one has none."""

    offsets: Mapping[str, Mapping[TopicPartition, int]]
    is_partial: bool


def reset(config: Mapping[str, object], request: ResetRequest) -> ResetResult:
    """Decide and perhaps commit the new offsets; a group with members is left out."""
    plan = _read_plan(request)
    found: dict[str, dict[TopicPartition, int]] = {}
    with Admin.from_config(config) as admin:
        # All groups of a file include those that the cluster does not have yet.
        is_all_of_file = request.file is not None and not request.groups
        groups = sorted(plan) if is_all_of_file else selected_groups(admin, request.groups)
        for group in groups:
            if not _is_inactive(admin, group):
                continue
            offsets = _decide(admin, group, request, plan=plan.get(group, {}))
            if not offsets and request.groups:
                _report_without_offsets(group, request)
                continue
            found[group] = offsets
            if offsets and not request.is_dry_run:
                _commit(admin, group, offsets)
    return ResetResult(found, is_partial=len(found) < len(groups))


def _report_without_offsets(group: str, request: ResetRequest) -> None:
    if request.file is not None:
        print_message(f"group {group!r}: {request.file} has no offsets of it; add its lines")
    else:
        print_message(f"group {group!r}: has no committed offsets; name the topics with --topic")


def _commit(admin: Admin, group: str, offsets: Mapping[TopicPartition, int]) -> None:
    wanted: dict[tuple[str, int], int | GroupOffset] = {
        (each.topic, each.partition): offset for each, offset in offsets.items()
    }
    admin.alter_group_offsets(group, wanted)


def _read_plan(request: ResetRequest) -> dict[str, dict[TopicPartition, int]]:
    if request.file is None:
        return {}
    single = request.groups[0] if len(request.groups) == 1 else None
    text = Path(absolute_path(request.file)).read_text()
    return parse_plan(text, path=request.file, group=single)


def _is_inactive(admin: Admin, group: str) -> bool:
    try:
        (found,) = admin.describe_groups([group])
    except GroupIdNotFoundError:
        return True
    if found.state in _INACTIVE:
        return True
    print_message(
        f"group {group!r}: offsets cannot be reset while it has members (state {found.state});"
        " stop them first"
    )
    return False


def _decide(
    admin: Admin, group: str, request: ResetRequest, *, plan: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    target = request.target
    partitions = _partitions(admin, group, request, plan=plan)
    if not partitions:
        return {}
    committed = admin.list_group_offsets(group, partitions) if target.kind in OF_COMMITTED else {}
    starts = _list(admin, partitions, EARLIEST)
    ends = _list(admin, partitions, LATEST)
    times = _list(admin, partitions, target.value) if target.kind is ResetKind.TIME else {}
    choices = {
        each: OffsetChoices(
            log_start=starts[each],
            log_end=ends[each],
            committed=committed[each].offset if each in committed else None,
            requested=plan.get(each),
            at_time=None if times.get(each, -1) < 0 else times[each],
        )
        for each in partitions
    }
    found = new_offsets(target, choices)
    _report_moved(target, choices, found)
    return found


def _report_moved(
    target: ResetTarget,
    choices: Mapping[TopicPartition, OffsetChoices],
    found: Mapping[TopicPartition, int],
) -> None:
    """Print each offset that is outside the log, and so is moved to the nearest end."""
    for each, offsets in choices.items():
        wanted = wanted_offset(target, offsets, partition=each)
        if wanted not in {None, found[each]}:
            print_message(
                f"{each}: offset {wanted} is outside the log ({offsets.log_start} to"
                f" {offsets.log_end}); it is moved to {found[each]}"
            )


def _partitions(
    admin: Admin, group: str, request: ResetRequest, *, plan: Mapping[TopicPartition, int]
) -> list[TopicPartition]:
    if request.file is not None:
        return partitions_in(admin, [f"{each.topic}:{each.partition}" for each in plan])
    if request.topics:
        return partitions_in(admin, request.topics)
    return sorted(admin.list_group_offsets(group))


def _list(
    admin: Admin, partitions: Sequence[TopicPartition], place: int
) -> dict[TopicPartition, int]:
    wanted: dict[tuple[str, int], int] = dict.fromkeys(partitions, place)
    found = admin.list_offsets(wanted)
    return {each: offset.offset for each, offset in found.items()}
