"""`cordwood groups reset-offsets`: new committed offsets for groups without members.

`cli.groups.reset_run` does the work.
"""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.cluster_options import AsJson, BootstrapServer, CommandConfig, reachable_config
from cordwood.cli.groups.group_options import AllGroups, GroupArguments, Groups, Timeout
from cordwood.cli.groups.group_selection import given_groups
from cordwood.cli.row_output import print_rows
from cordwood.cli.terminal import print_message, print_output

if TYPE_CHECKING:
    from cordwood.cli.groups.offset_plan import Plan

EXAMPLE: Final = (
    "Example: cordwood groups reset-offsets billing --topic orders --to-earliest --execute"
)

Topics = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="TOPIC[:0,1]", help="Topic, or its partitions. Repeatable."),
]
AllTopics = Annotated[
    bool, typer.Option("--all-topics", help="Select all partitions with a committed offset.")
]
ToEarliest = Annotated[bool, typer.Option("--to-earliest", help="Reset to the log start.")]
ToLatest = Annotated[bool, typer.Option("--to-latest", help="Reset to the log end.")]
ToCurrent = Annotated[
    bool,
    typer.Option("--to-current", help="Keep the committed offsets; without one, the log end."),
]
ToOffset = Annotated[int | None, typer.Option(min=0, help="Reset to this offset.")]
ToDatetime = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="Reset to the first record at or after 2026-01-31T12:00:00 (UTC)."
    ),
]
ByDuration = Annotated[
    str | None,
    typer.Option(metavar="DURATION", help="Reset to the first record of the last PT1H or P7D."),
]
ShiftBy = Annotated[
    int | None, typer.Option(help="Add this number, perhaps negative, to the committed offsets.")
]
FromFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="Reset to the offsets that --export printed.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print the new offsets and change nothing (default).")
]
Execute = Annotated[bool, typer.Option("--execute", help="Commit the new offsets.")]
Export = Annotated[bool, typer.Option("--export", help="Print the new offsets as CSV.")]


def reset_offsets(  # noqa: PLR0913  # tidy: allow[parameters] an option each, Kafka's and ours
    groups: GroupArguments = None,
    *,
    group: Groups = None,
    all_groups: AllGroups = False,
    topics: Topics = None,
    all_topics: AllTopics = False,
    to_earliest: ToEarliest = False,
    to_latest: ToLatest = False,
    to_current: ToCurrent = False,
    to_offset: ToOffset = None,
    to_datetime: ToDatetime = None,
    by_duration: ByDuration = None,
    shift_by: ShiftBy = None,
    from_file: FromFile = None,
    dry_run: DryRun = False,
    execute: Execute = False,
    export: Export = False,
    timeout: Timeout = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print new offsets of groups without members, and commit them with --execute."""
    from cordwood.cli.groups import reset_run, reset_target  # noqa: PLC0415  # help needs none of it
    from cordwood.core.system import SystemClock  # noqa: PLC0415  # as above

    selected = given_groups(groups, group, is_all=all_groups)
    if bool(topics) + all_topics + (from_file is not None) != 1:
        raise typer.BadParameter("give one of --topic, --all-topics and --from-file")
    if dry_run and execute:
        raise typer.BadParameter("give one of --dry-run and --execute")
    options: dict[str, bool | int | str | None] = {
        "to-earliest": to_earliest,
        "to-latest": to_latest,
        "to-current": to_current,
        "to-offset": to_offset,
        "to-datetime": to_datetime,
        "by-duration": by_duration,
        "shift-by": shift_by,
        "from-file": from_file,
    }
    target = reset_target.parse_target(options, now_ms=SystemClock().now_ms())
    result = reset_run.reset(
        reachable_config(bootstrap_server, command_config, default_api_timeout_ms=timeout),
        reset_run.ResetRequest(
            tuple(selected), tuple(topics or ()), target, from_file, is_dry_run=not execute
        ),
    )
    if export:
        _print_plan(result.offsets, has_group=len(selected) != 1)
    else:
        print_rows(_rows(result.offsets), as_json=as_json)
    if not execute and result.offsets:
        print_message("nothing was changed; add --execute to commit these offsets")
    if result.is_partial:
        raise typer.Exit(1)


def _print_plan(plan: "Plan", *, has_group: bool) -> None:
    from cordwood.cli.groups.offset_plan import plan_lines  # noqa: PLC0415  # help needs none of it

    lines = plan_lines(plan, has_group=has_group)
    if lines:
        print_output("\n".join(lines))


def _rows(plan: "Plan") -> list[dict[str, object]]:
    return [
        {"GROUP": group, "TOPIC": each.topic, "PARTITION": each.partition, "NEW-OFFSET": new}
        for group, offsets in sorted(plan.items())
        for each, new in sorted(offsets.items())
    ]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("reset-offsets", epilog=EXAMPLE)(reset_offsets)
