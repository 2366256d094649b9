"""What retention does to a log, when, and what holds each segment back; and what the cleaner does.

It is the broker's own rule (`storage.retention`), over what can be seen from outside: segments by
their files, the high watermark by its checkpoint, which may be seconds old, or else the log's end;
and settings from where they are found. Of compacted logs there is more to say (`explain_cleaning`).
"""

import json
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Final

from cordwood.core.ports import Files
from cordwood.core.settings import Resolved
from cordwood.storage.reader import PartitionReader
from cordwood.storage.reader_place import open_reader, read_high_watermark
from cordwood.storage.reader_segments import ReaderSegment
from cordwood.storage.retention import Deletion, Kept, SegmentFacts, plan_retention
from cordwood.workbench.explain_cleaning import NO_DETAILS, CleaningOutlook, Details, outlook
from cordwood.workbench.settings_found import FoundSettings

#: The settings that decide what goes, which are told with where they were found.
DECIDING: Final = (
    "cleanup.policy",
    "retention.ms",
    "retention.bytes",
    "segment.bytes",
    "segment.ms",
    "min.compaction.lag.ms",
    "max.compaction.lag.ms",
    "delete.retention.ms",
    "min.cleanable.dirty.ratio",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFate:
    """What becomes of a segment. `goes` says why it goes now; else `holds` say what keeps it.

    `until_ms` is when its age lets it go, `until_bytes` after how many more bytes its place does;
    None where that never happens.
    """

    base_offset: int
    end_offset: int
    size: int
    largest_timestamp: int
    goes: str | None = None
    holds: tuple[str, ...] = ()
    until_ms: int | None = None
    until_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingTold:
    """A setting that decides, as text, and where it was found."""

    name: str
    value: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What one pass of retention would do now, and what it would not.

    `cleaning` is None where the log is not compacted.
    """

    path: str
    now_ms: int
    log_start: int
    new_log_start: int
    high_watermark: int
    log_end: int
    is_rolling: bool
    segments: tuple[SegmentFate, ...]
    settings: tuple[SettingTold, ...]
    cleaning: CleaningOutlook | None = None

    def to_json(self) -> str:
        """Return the same as a JSON object."""
        return json.dumps(asdict(self))


def explain(
    files: Files,
    path: str,
    *,
    found: FoundSettings,
    now_ms: int,
    details: Details = NO_DETAILS,
) -> Explanation:
    """Return what becomes of a partition's log; LogDirectoryError where there is none."""
    replicated = read_high_watermark(files, path)
    with closing(open_reader(files, path)) as reader:
        bounds = reader.offsets()
        facts = [_facts(each, log_end=bounds.log_end) for each in _segments(reader)]
        cleaning = None
        if found.config.is_compacted:
            cleaning = outlook(
                files,
                reader,
                config=found.config,
                high_watermark=replicated,
                now_ms=now_ms,
                details=details,
            )
    high_watermark = bounds.log_end if replicated is None else min(replicated, bounds.log_end)
    plan = plan_retention(
        facts,
        log_start_offset=bounds.log_start,
        high_watermark=high_watermark,
        config=found.config,
        now_ms=now_ms,
    )
    fates = (*map(_gone, plan.deletions), *map(_kept, plan.kept))
    return Explanation(
        path=path,
        now_ms=now_ms,
        log_start=bounds.log_start,
        new_log_start=plan.log_start_offset,
        high_watermark=high_watermark,
        log_end=bounds.log_end,
        is_rolling=plan.is_rolling,
        segments=fates,
        settings=tuple(_told(name, found.resolved[name]) for name in DECIDING),
        cleaning=cleaning,
    )


def _segments(reader: PartitionReader) -> list[tuple[ReaderSegment, int | None]]:
    """Return the segments, each with the base offset of the next."""
    opened = reader.opened()
    bases = [each.base_offset for each in opened]
    return list(zip(opened, (*bases, None)[1:], strict=True))


def _facts(segment: tuple[ReaderSegment, int | None], *, log_end: int) -> SegmentFacts:
    opened, following = segment
    end = log_end if following is None else following
    return SegmentFacts(opened.base_offset, end, opened.view.size, opened.largest_timestamp())


def _gone(deletion: Deletion) -> SegmentFate:
    base_offset, next_base, size, largest = deletion.segment
    return SegmentFate(
        base_offset=base_offset,
        end_offset=next_base,
        size=size,
        largest_timestamp=largest,
        goes=deletion.reason.value,
    )


def _kept(kept: Kept) -> SegmentFate:
    base_offset, next_base, size, largest = kept.segment
    return SegmentFate(
        base_offset=base_offset,
        end_offset=next_base,
        size=size,
        largest_timestamp=largest,
        holds=tuple(hold.value for hold in kept.holds),
        until_ms=kept.until_ms,
        until_bytes=kept.until_bytes,
    )


def _told(name: str, resolved: Resolved) -> SettingTold:
    value = resolved.value
    text = ",".join(value) if isinstance(value, tuple) else str(value)
    return SettingTold(name=name, value=text, source=resolved.source)
