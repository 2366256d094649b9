"""`cordwood log explain`: what retention and cleaning do to a log, when, and what holds it back."""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.output import say
from cordwood.cli.paths import absolute
from cordwood.cli.progress import progress
from cordwood.cli.topic_settings import BrokerConfig, Config, finder_of
from cordwood.cli.warming import log_bytes, warm_for

if TYPE_CHECKING:
    from cordwood.core.ports import Files
    from cordwood.workbench.explain import Explanation, SegmentFate
    from cordwood.workbench.explain_cleaning import CleaningOutlook, Horizon, SegmentOutlook

EXAMPLE: Final = "Example: cordwood log explain kafka-logs/orders-0 --config retention.ms=3600000"

Where = Annotated[str, typer.Argument(help="A partition's directory, or a topic's name.")]
Data = Annotated[
    list[str] | None, typer.Option("--data", help="A log directory of the topic; may come again.")
]
Horizons = Annotated[
    bool, typer.Option("--horizons", help="Tell when tombstones and markers may go, by batch.")
]
Deep = Annotated[bool, typer.Option("--deep", help="Count what cleaning frees, however long.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]

_LATEST_MS: Final = 253_402_300_799_999  # the year 9999


def register(app: typer.Typer) -> None:
    """Add the command to its family."""
    app.command(epilog=EXAMPLE)(explain)


def explain(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    where: Where,
    *,
    data: Data = None,
    config: Config = None,
    broker_config: BrokerConfig = None,
    deep: Deep = False,
    horizons: Horizons = False,
    as_json: AsJson = False,
) -> None:
    """Say what retention and cleaning do to a log, when, and what holds each segment back."""
    from cordwood.core.system import SystemClock, SystemFiles  # noqa: PLC0415  # help needs none
    from cordwood.storage.reader_place import partition_of  # noqa: PLC0415  # as above
    from cordwood.workbench import explain as work  # noqa: PLC0415  # as above
    from cordwood.workbench.explain_cleaning import Details  # noqa: PLC0415  # as above

    files, now_ms = SystemFiles(), SystemClock().now_ms()
    finder = finder_of(files, config=config, broker_config=broker_config)
    explained, paths = [], _paths(files, where, data)
    if deep:
        warm_for(log_bytes(paths))
    with progress(None) as tell:
        details = Details(has_horizons=horizons, is_deep=deep, tell=tell)
        for path in paths:
            partition = partition_of(path)
            topic = None if partition is None else partition.topic
            found = finder.of(str(Path(path).parent), topic)
            told = work.explain(files, path, found=found, now_ms=now_ms, details=details)
            explained.append(told)
    if as_json:
        say(_json(explained, is_topic=paths != [absolute(where)]))
    else:
        say("\n".join(line for told in explained for line in lines_of(told)))


def _paths(files: "Files", where: str, data: list[str] | None) -> list[str]:
    """Return the directories of the partitions that are meant; a topic may stand for one too."""
    from cordwood.core.errors import LogDirectoryError  # noqa: PLC0415  # help needs none
    from cordwood.workbench.places import paths_of  # noqa: PLC0415  # as above

    if data is not None:
        return paths_of(files, where, log_directories=[absolute(each) for each in data])
    path = Path(absolute(where))
    if not path.exists():
        with suppress(LogDirectoryError):
            return paths_of(files, path.name, log_directories=[str(path.parent)])
    return [str(path)]


def _json(explained: "list[Explanation]", *, is_topic: bool) -> str:
    texts = [told.to_json() for told in explained]
    return f'{{"partitions": [{", ".join(texts)}]}}' if is_topic else texts[0]


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
    if told.cleaning is None:
        return [*lines, *(_segment(each) for each in told.segments)]
    lines += lines_of_cleaning(told.cleaning)
    outlooks = {each.base_offset: f"; {outlook_of(each)}" for each in told.cleaning.segments}
    lines += [f"{_segment(fate)}{outlooks.get(fate.base_offset, '')}" for fate in told.segments]
    return [*lines, *map(line_of_horizon, told.cleaning.horizons or ())]


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


def lines_of_cleaning(told: "CleaningOutlook") -> list[str]:
    """Return in lines what of a log is dirty, and when it is cleaned."""
    dirty, total = told.cleanable_bytes, told.clean_bytes + told.cleanable_bytes
    lines = [] if told.warning is None else [told.warning]
    lines.append(
        f"dirty from {told.first_dirty} on: {dirty} of the {total} bytes below {told.end}, "
        f"{told.dirty_ratio:.1%}; more than {told.min_ratio:.1%} have to be"
    )
    if told.undecided is not None:
        lines.append(
            f"producer {told.undecided.producer_id} has not decided what it began at "
            f"{told.undecided.first_offset}"
        )
    freed = (
        f"at most {total} bytes: --deep counts them"
        if told.freed_bytes is None
        else f"{told.freed_bytes} bytes"
    )
    return [*lines, f"cleaned {_when_due(told)}", f"a pass now would free {freed}"]


def outlook_of(told: "SegmentOutlook") -> str:
    """Return what the cleaner does to a segment."""
    if told.is_clean:
        return "clean"
    if not told.holds:
        return "dirty, may be cleaned"
    more = []
    if told.until_ms is not None:
        more.append(f"not before {_moment(told.until_ms)}")
    if told.rolls_after_bytes is not None:
        more.append(_when_rolled(told))
    return f"dirty, not cleaned: {'; '.join((*told.holds, *more))}"


def _when_due(told: "CleaningOutlook") -> str:
    if told.is_due:
        return "when the cleaner has its next turn"
    by_bytes = f"once {told.missing_bytes} more bytes are dirty and may be cleaned"
    if told.due_ms is None:
        return "never by its ratio" if told.missing_bytes is None else by_bytes
    by_time = f"at {_moment(told.due_ms)}"
    return by_time if told.missing_bytes is None else f"{by_time}, or {by_bytes}"


def _when_rolled(told: "SegmentOutlook") -> str:
    by_bytes = f"it rolls after {told.rolls_after_bytes} more bytes"
    if told.rolls_after_ms is None:
        return by_bytes
    return f"{by_bytes}, or with a record later than {_moment(told.rolls_after_ms)}"


def line_of_horizon(told: "Horizon") -> str:
    """Return when what a batch has may go."""
    what = "marker goes" if told.is_control else "tombstones go"
    return (
        f"offsets {told.base_offset} to {told.last_offset}: {what} with a pass from "
        f"{_moment(told.horizon_ms)} on ({told.path}, position {told.position})"
    )


def _moment(timestamp_ms: int) -> str:
    """Return a time as text, UTC; one that no calendar has, as a number."""
    if not 0 <= timestamp_ms <= _LATEST_MS:
        return f"{timestamp_ms} ms"
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="seconds")
