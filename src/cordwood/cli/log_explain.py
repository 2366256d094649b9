"""`cordwood log explain`: what retention does to a partition, when, and what holds it back."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.output import say
from cordwood.cli.paths import absolute
from cordwood.cli.topic_settings import BrokerConfig, Config, finder_of

if TYPE_CHECKING:
    from cordwood.workbench.explain import Explanation, SegmentFate

EXAMPLE: Final = "Example: cordwood log explain kafka-logs/orders-0 --config retention.ms=3600000"

Directory = Annotated[str, typer.Argument(help="The partition's directory.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]

_LATEST_MS: Final = 253_402_300_799_999  # the year 9999


def register(app: typer.Typer) -> None:
    """Add the command to its family."""
    app.command(epilog=EXAMPLE)(explain)


def explain(
    directory: Directory,
    *,
    config: Config = None,
    broker_config: BrokerConfig = None,
    as_json: AsJson = False,
) -> None:
    """Say which segments go now, when the others do, and what holds each of them back."""
    from cordwood.core.system import SystemClock, SystemFiles  # noqa: PLC0415  # help needs none
    from cordwood.storage.reader_place import partition_of  # noqa: PLC0415  # as above
    from cordwood.workbench import explain as work  # noqa: PLC0415  # as above

    path, files = absolute(directory), SystemFiles()
    partition = partition_of(path)
    topic = None if partition is None else partition.topic
    finder = finder_of(files, config=config, broker_config=broker_config)
    found = finder.of(str(Path(path).parent), topic)
    told = work.explain(files, path, found=found, now_ms=SystemClock().now_ms())
    say(told.to_json() if as_json else "\n".join(lines_of(told)))


def lines_of(told: "Explanation") -> list[str]:
    """Return it in lines: the log, its settings, its segments."""
    lines = [
        (
            f"{told.path}: offsets {told.log_start} to {told.log_end - 1}, "
            f"high watermark {told.high_watermark}"
        )
    ]
    lines += [f"{each.name} = {each.value} ({each.source})" for each in told.settings]
    if told.is_rolling:
        lines.append("all of it goes: an empty segment is begun first")
    if told.new_log_start > told.log_start:
        lines.append(f"the log starts at {told.new_log_start} after that")
    return [*lines, *(_segment(each) for each in told.segments)]


def _segment(fate: "SegmentFate") -> str:
    where = f"segment {fate.base_offset}: {fate.size} bytes up to offset {fate.end_offset - 1}"
    if fate.goes is not None:
        return f"{where}: goes now, {fate.goes}"
    until = []
    if fate.until_ms is not None:
        until.append(f"goes by age at {_moment(fate.until_ms)}")
    if fate.until_bytes is not None:
        until.append(f"goes by size after {fate.until_bytes} more bytes")
    return f"{where}: stays: {'; '.join((*fate.holds, *until))}"


def _moment(timestamp_ms: int) -> str:
    """Return a time as text, UTC; one that no calendar has, as a number."""
    if not 0 <= timestamp_ms <= _LATEST_MS:
        return f"{timestamp_ms} ms"
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="seconds")
