"""The groups of a command: those that it names, or all consumer groups of the cluster."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import typer

from cordwood.cli.given_names import given_name, given_names

if TYPE_CHECKING:
    from cordwood.client.admin.group_types import GroupListing
    from cordwood.client.blocking import Admin

#: Groups of consumers; a simple group, which has offsets and no members, has no protocol.
_PROTOCOLS: Final = ("", "consumer")


def given_groups(
    arguments: Iterable[str] | None, options: Iterable[str] | None, *, is_all: bool
) -> list[str]:
    """Return the groups of the arguments and of `--group`; BadParameter for none, unless all."""
    groups = given_names(arguments, options)
    if groups and is_all:
        raise typer.BadParameter("give groups or --all-groups, not both")
    if not (groups or is_all):
        raise typer.BadParameter("name groups: GROUP or --group GROUP; or give --all-groups")
    return groups


def given_group(argument: str | None, option: str | None) -> str:
    """Return the one group that is given as the argument or as `--group`."""
    return given_name(argument, option, noun="group", metavar="GROUP", flag="--group")


def consumer_groups(listed: "Sequence[GroupListing]") -> "list[GroupListing]":
    """Return the groups of consumers, which are not groups of Connect or of share consumers."""
    return [each for each in listed if each.protocol_type in _PROTOCOLS]


def selected_groups(admin: "Admin", groups: Sequence[str] | None) -> list[str]:
    """Return the ids of the selected groups, sorted; by default all."""
    if groups:
        return sorted(set(groups))
    return [each.group_id for each in consumer_groups(admin.list_groups())]
