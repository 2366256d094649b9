"""`cordwood groups list`: ids of groups, with states and types on request."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer
from typer.core import TyperCommand

from cordwood.cli.cluster_options import AsJson, BootstrapServer, CommandConfig, reachable_config
from cordwood.cli.groups.group_options import Timeout
from cordwood.cli.groups.group_selection import consumer_groups
from cordwood.cli.row_output import print_rows

if TYPE_CHECKING:
    from cordwood.client.admin.group_types import GroupListing

STATES: Final = (
    *("Assigning", "CompletingRebalance", "Dead", "Empty"),
    *("PreparingRebalance", "Reconciling", "Stable"),
)
TYPES: Final = ("Classic", "Consumer")
_OPTIONAL: Final = ("--state", "--type")

State = Annotated[
    str | None,
    typer.Option("--state", metavar="[STATES]", help="Print states; with names, only these."),
]
Type = Annotated[
    str | None,
    typer.Option("--type", metavar="[TYPES]", help="Print types; with names, only these."),
]


class OptionalValueCommand(TyperCommand):
    """A command whose `--state` and `--type` may have a value or none, as Kafka's."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]  # typer has no public name for the base of its context
        return super().parse_args(ctx, with_values(args))


def with_values(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with an empty value for each option that has none."""
    following = [*arguments[1:], "--"]
    return [
        f"{each}=" if each in _OPTIONAL and after.startswith("-") else each
        for each, after in zip(arguments, following, strict=False)
    ]


def list_groups(
    *,
    state: State = None,
    group_type: Type = None,
    timeout: Timeout = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print the ids of all consumer groups."""
    from cordwood.client.blocking import Admin  # noqa: PLC0415  # help needs none of it

    states = parse_names(state, known=STATES, what="state")
    types = parse_names(group_type, known=TYPES, what="type")
    config = reachable_config(bootstrap_server, command_config, default_api_timeout_ms=timeout)
    with Admin.from_config(config) as admin:
        found = consumer_groups(admin.list_groups(states=states, types=types))
    has_type, has_state = group_type is not None, state is not None
    print_rows(
        [listing_row(each, has_type=has_type, has_state=has_state) for each in found],
        as_json=as_json,
        has_titles=has_type or has_state,
    )


def parse_names(text: str | None, *, known: Sequence[str], what: str) -> list[str]:
    """Parse names separated by commas, in any case; none if all are wanted."""
    by_lower = {each.lower(): each for each in known}
    names = [each.strip().lower() for each in text.split(",")] if text else []
    for name in names:
        if name not in by_lower:
            raise typer.BadParameter(f"{name!r} is not a {what}; choose from {', '.join(known)}")
    return [by_lower[name] for name in names]


def listing_row(group: "GroupListing", *, has_type: bool, has_state: bool) -> dict[str, object]:
    """Return the columns of a group."""
    row: dict[str, object] = {"GROUP": group.group_id}
    if has_type:
        row["TYPE"] = group.type.capitalize() or "Unknown"
    if has_state:
        row["STATE"] = group.state or "Unknown"
    return row


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(
        "list",
        cls=OptionalValueCommand,
        epilog="Example: cordwood groups list --state stable,empty",
    )(list_groups)
