"""`cordwood log explain`: forecast of retention and cleaning for each segment of a log."""

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.exit_codes import FOUND_WRONG
from cordwood.cli.log_sizes import count_log_bytes
from cordwood.cli.log_targets import partitions_at
from cordwood.cli.progress import show_progress
from cordwood.cli.terminal import print_output
from cordwood.cli.topic_config_options import BrokerConfig, Config, settings_finder
from cordwood.core.counts import counted, offsets_of_log

if TYPE_CHECKING:
    from cordwood.core.ports import Files
    from cordwood.workbench.explain.cleaning_outlook import CleaningOutlook, Horizon, SegmentOutlook
    from cordwood.workbench.explain.explanation import Explanation, SegmentRetention
    from cordwood.workbench.topic_settings_lookup import SettingsFinder

EXAMPLE: Final = "Example: cordwood log explain kafka-logs/orders-0 --config retention.ms=3600000"

Where = Annotated[
    str, typer.Argument(help="Directory of a partition, log directory, or name of a topic.")
]
Data = Annotated[
    list[str] | None,
    typer.Option("--data", metavar="DIR", help="Log directory with the topic. Repeatable."),
]
Horizons = Annotated[
    bool,
    typer.Option(
        "--horizons", help="Print for each batch when its tombstones and markers may be deleted."
    ),
]
Deep = Annotated[
    bool,
    typer.Option(
        "--deep", help="Verify large logs too, and count the bytes that cleaning frees in them."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

#: Up to this size a partition is verified without `--deep`: that takes about 0.1 s.
VERIFIED_BYTES: Final = 64 << 20
_LATEST_MS: Final = 253_402_300_799_999  # the year 9999


def add_to(app: typer.Typer) -> None:
    """Register the command."""
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
    """Explain what retention and cleaning do to each segment, when, and what prevents it."""
    from cordwood.core.system import SystemClock, SystemFiles  # noqa: PLC0415  # help needs none
    from cordwood.storage.reader.path_resolution import partition_of  # noqa: PLC0415  # as above
    from cordwood.workbench.explain import explanation as work  # noqa: PLC0415  # as above
    from cordwood.workbench.explain.cleaning_outlook import ExplainDetails  # noqa: PLC0415  # as above

    files, now_ms = SystemFiles(), SystemClock().now_ms()
    finder = settings_finder(files, config=config, broker_config=broker_config)
    explained, paths = [], _paths(files, where, data)
    verifier = _Verifier(files, finder, is_deep=deep)
    with show_progress(None) as advance:
        details = ExplainDetails(has_horizons=horizons, is_deep=deep, on_bytes=advance)
        for path in paths:
            partition = partition_of(path)
            topic = None if partition is None else partition.topic
            found = finder.find(str(Path(path).parent), topic)
            each = work.explain(files, path, found=found, now_ms=now_ms, details=details)
            explained.append(replace(each, verdict=verifier.verdict(path)))
    if as_json:
        print_output(_json(explained, is_topic=paths != [absolute_path(where)]))
    else:
        print_output("\n".join(line for each in explained for line in explanation_lines(each)))
    if verifier.has_problem:
        raise typer.Exit(FOUND_WRONG)


class _Verifier:
    """Verdicts on the explained partitions; a large one is verified only with `--deep`."""

    def __init__(self, files: "Files", settings: "SettingsFinder", *, is_deep: bool) -> None:
        self.has_problem = False
        self._files = files
        self._settings = settings
        self._is_deep = is_deep

    def verdict(self, path: str) -> str | None:
        """Return the verdict on a partition, None if it is large."""
        from cordwood.records.kernels import batch_checker  # noqa: PLC0415  # help needs none
        from cordwood.workbench.verdicts import verify_partition_at  # noqa: PLC0415  # as above

        if count_log_bytes([path]) > VERIFIED_BYTES and not self._is_deep:
            return None
        found = verify_partition_at(
            self._files, path, settings=self._settings, checker=batch_checker()
        )
        self.has_problem |= found.is_wrong
        return found.verdict and found.verdict.value


def _paths(files: "Files", where: str, data: list[str] | None) -> list[str]:
    """Return the directories of the partitions; the argument may be a topic in its directory."""
    from cordwood.core.errors import LogDirectoryError  # noqa: PLC0415  # help needs none
    from cordwood.workbench.partition_paths import find_partition_paths  # noqa: PLC0415  # as above

    if data is not None:
        return find_partition_paths(
            files, where, log_directories=[absolute_path(each) for each in data]
        )
    path = Path(absolute_path(where))
    if not path.exists():
        with suppress(LogDirectoryError):
            return find_partition_paths(files, path.name, log_directories=[str(path.parent)])
    return partitions_at(files, str(path))


def _json(explained: "list[Explanation]", *, is_topic: bool) -> str:
    texts = [each.to_json() for each in explained]
    return f'{{"partitions": [{", ".join(texts)}]}}' if is_topic else texts[0]


def explanation_lines(explained: "Explanation") -> list[str]:
    """Return an explanation as lines: the log, its settings, its segments."""
    lines = [
        (
            f"{explained.path}: {offsets_of_log(explained.log_start, explained.log_end)}, "
            f"high watermark {explained.high_watermark}"
        ),
        _verdict(explained),
    ]
    lines += [f"{each.name} = {each.value} ({each.source})" for each in explained.settings]
    if explained.is_rolling:
        lines.append("all segments are deleted: the log first rolls to an empty segment")
    if explained.new_log_start > explained.log_start:
        lines.append(f"the log start offset is {explained.new_log_start} after that")
    cleaning = explained.cleaning
    if cleaning is None:
        return [*lines, *(_segment_line(each) for each in explained.segments)]
    lines += cleaning_lines(cleaning)
    outlooks = {each.base_offset: f"; {outlook_text(each)}" for each in cleaning.segments}
    lines += [
        f"{_segment_line(each)}{outlooks.get(each.base_offset, '')}" for each in explained.segments
    ]
    return [*lines, *map(horizon_line, cleaning.horizons or ())]


def _verdict(explained: "Explanation") -> str:
    verdict = explained.verdict
    command = f"run: cordwood log verify {quote(explained.path)}"
    if verdict is None:
        return f"verdict: not verified, the log is large; give --deep, or {command}"
    return f"verdict: {verdict}" if verdict == "whole" else f"verdict: {verdict}; {command}"


def _segment_line(segment: "SegmentRetention") -> str:
    last_offset = segment.end_offset - 1
    where = f"segment {segment.base_offset}: {segment.size:,} bytes up to offset {last_offset}"
    if segment.goes is not None:
        return f"{where}: deleted now, {segment.goes}"
    until = []
    if segment.until_ms is not None:
        until.append(f"deleted by age at {_time_text(segment.until_ms)}")
    if segment.until_bytes is not None:
        until.append(f"deleted by size after {counted(segment.until_bytes, 'more byte')}")
    return f"{where}: kept: {'; '.join((*segment.holds, *until))}"


def cleaning_lines(outlook: "CleaningOutlook") -> list[str]:
    """Return the dirty part of a log, and the time of its cleaning, as lines."""
    dirty, total = outlook.cleanable_bytes, outlook.clean_bytes + outlook.cleanable_bytes
    lines = [] if outlook.warning is None else [outlook.warning]
    lines.append(
        f"dirty from offset {outlook.first_dirty}: {dirty:,} of the {total:,} bytes below offset "
        f"{outlook.end}, {outlook.dirty_ratio:.1%}; cleaned above {outlook.min_ratio:.1%}"
    )
    if outlook.undecided is not None:
        lines.append(
            f"producer {outlook.undecided.producer_id} has an open transaction since offset "
            f"{outlook.undecided.first_offset}"
        )
    freed = (
        f"at most {total:,} bytes; --deep counts them"
        if outlook.freed_bytes is None
        else counted(outlook.freed_bytes, "byte")
    )
    return [*lines, f"cleaned {_due_text(outlook)}", f"a pass now would free {freed}"]


def outlook_text(outlook: "SegmentOutlook") -> str:
    """Return what the cleaner does to a segment."""
    if outlook.is_clean:
        return "clean"
    if not outlook.holds:
        return "dirty, can be cleaned"
    more = []
    if outlook.until_ms is not None:
        more.append(f"not before {_time_text(outlook.until_ms)}")
    if outlook.rolls_after_bytes is not None:
        more.append(_roll_text(outlook))
    return f"dirty, cannot be cleaned: {'; '.join((*outlook.holds, *more))}"


def _due_text(outlook: "CleaningOutlook") -> str:
    if outlook.is_due:
        return "in the cleaner's next run"
    missing = outlook.missing_bytes
    by_bytes = f"once {counted(missing or 0, 'more dirty byte')} can be cleaned"
    if outlook.due_ms is None:
        return "never by its dirty ratio" if missing is None else by_bytes
    by_time = f"at {_time_text(outlook.due_ms)}"
    return by_time if missing is None else f"{by_time}, or {by_bytes}"


def _roll_text(outlook: "SegmentOutlook") -> str:
    by_bytes = f"it rolls after {counted(outlook.rolls_after_bytes or 0, 'more byte')}"
    if outlook.rolls_after_ms is None:
        return by_bytes
    return f"{by_bytes}, or at a record later than {_time_text(outlook.rolls_after_ms)}"


def horizon_line(horizon: "Horizon") -> str:
    """Return from when on the tombstones or the marker of a batch may be deleted."""
    subject = "its marker" if horizon.is_control else "its tombstones"
    return (
        f"offsets {horizon.base_offset} to {horizon.last_offset}: {subject} can be deleted from "
        f"{_time_text(horizon.horizon_ms)} on ({horizon.path}, position {horizon.position})"
    )


def _time_text(timestamp_ms: int) -> str:
    """Return a time as text in UTC; a time after the year 9999 as a number."""
    if not 0 <= timestamp_ms <= _LATEST_MS:
        return f"{timestamp_ms} ms"
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="seconds")
