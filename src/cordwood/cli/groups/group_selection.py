"""The groups of a command: those that `--group` names, or all consumer groups of the cluster."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import typer

if TYPE_CHECKING:
    from cordwood.client.admin.group_types import GroupListing
    from cordwood.client.blocking import Admin

#: Groups of consumers; a simple group, which has offsets and no members, has no protocol.
_PROTOCOLS: Final = ("", "consumer")


def ensure_selection(groups: Sequence[str] | None, *, is_all: bool) -> None:
    """Raise BadParameter unless groups are selected in exactly one way."""
    if bool(groups) == is_all:
        raise typer.BadParameter("give --group, or --all-groups")


def consumer_groups(listed: "Sequence[GroupListing]") -> "list[GroupListing]":
    """Return the groups of consumers, which are not groups of Connect or of share consumers."""
    return [each for each in listed if each.protocol_type in _PROTOCOLS]


def selected_groups(admin: "Admin", groups: Sequence[str] | None) -> list[str]:
    """Return the ids of the selected groups, sorted; by default all."""
    if groups:
        return sorted(set(groups))
    return [each.group_id for each in consumer_groups(admin.list_groups())]
