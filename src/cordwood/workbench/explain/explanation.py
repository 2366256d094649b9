"""Explanation of retention for a log: what it deletes, when, and what keeps each segment.

The rules are the broker's (`storage.log.retention`), applied to the files on disk. The high
watermark is the checkpoint's, which may be seconds old, or the log's end without a checkpoint.
Settings come from `topic_settings_lookup`. For compacted logs the explanation contains a forecast
of cleaning too (`cleaning_outlook`).
"""

import json
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Final

from cordwood.core.ports import Files
from cordwood.core.settings import ResolvedSetting
from cordwood.storage.log.retention import (
    KeptSegment,
    SegmentDeletion,
    SegmentFacts,
    plan_retention,
)
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.path_resolution import open_reader, read_high_watermark
from cordwood.storage.reader.reader_segment import ReaderSegment
from cordwood.workbench.explain.cleaning_outlook import (
    NO_DETAILS,
    CleaningOutlook,
    ExplainDetails,
    forecast_cleaning,
)
from cordwood.workbench.topic_settings_lookup import FoundSettings

#: The settings that decide about deletion and cleaning; they are printed with their sources.
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
class SegmentRetention:
    """The effect of retention on a segment: why it is deleted now (`goes`), or kept (`holds`).

    `until_ms` is when its age allows deletion, and `until_bytes` after how many more bytes in the
    log its size does; None means never.
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
class DecidingSetting:
    """A setting that decides about deletion or cleaning, and its source."""

    name: str
    value: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The effect of retention on a log now and later.

    `cleaning` is None if the log is not compacted. `verdict` is that of a verification, if there
    was one.
    """

    path: str
    now_ms: int
    log_start: int
    new_log_start: int
    high_watermark: int
    log_end: int
    is_rolling: bool
    segments: tuple[SegmentRetention, ...]
    settings: tuple[DecidingSetting, ...]
    cleaning: CleaningOutlook | None = None
    verdict: str | None = None

    def to_json(self) -> str:
        """Return the fields as a JSON object."""
        return json.dumps(asdict(self))


def explain(
    files: Files,
    path: str,
    *,
    found: FoundSettings,
    now_ms: int,
    details: ExplainDetails = NO_DETAILS,
) -> Explanation:
    """Return the explanation of a partition's log; raise LogDirectoryError if there is none."""
    checkpointed = read_high_watermark(files, path)
    with closing(open_reader(files, path)) as reader:
        bounds = reader.offsets()
        facts = [_facts(each, log_end=bounds.log_end) for each in _segments(reader)]
        cleaning = None
        if found.config.is_compacted:
            cleaning = forecast_cleaning(
                files,
                reader,
                config=found.config,
                high_watermark=checkpointed,
                now_ms=now_ms,
                details=details,
            )
    high_watermark = bounds.log_end if checkpointed is None else min(checkpointed, bounds.log_end)
    plan = plan_retention(
        facts,
        log_start_offset=bounds.log_start,
        high_watermark=high_watermark,
        config=found.config,
        now_ms=now_ms,
    )
    segments = (*map(_deleted_segment, plan.deletions), *map(_kept_segment, plan.kept))
    return Explanation(
        path=path,
        now_ms=now_ms,
        log_start=bounds.log_start,
        new_log_start=plan.log_start_offset,
        high_watermark=high_watermark,
        log_end=bounds.log_end,
        is_rolling=plan.is_rolling,
        segments=segments,
        settings=tuple(_deciding_setting(name, found.resolved[name]) for name in DECIDING),
        cleaning=cleaning,
    )


def _segments(reader: PartitionReader) -> list[tuple[ReaderSegment, int | None]]:
    """Return the segments, each with the base offset of the next one."""
    opened = reader.open_segments()
    bases = [each.base_offset for each in opened]
    return list(zip(opened, (*bases, None)[1:], strict=True))


def _facts(segment: tuple[ReaderSegment, int | None], *, log_end: int) -> SegmentFacts:
    opened, following = segment
    end = log_end if following is None else following
    return SegmentFacts(opened.base_offset, end, opened.view.size, opened.largest_timestamp())


def _deleted_segment(deletion: SegmentDeletion) -> SegmentRetention:
    return replace(_segment(deletion.segment), goes=deletion.reason.value)


def _kept_segment(kept: KeptSegment) -> SegmentRetention:
    return replace(
        _segment(kept.segment),
        holds=tuple(hold.value for hold in kept.holds),
        until_ms=kept.until_ms,
        until_bytes=kept.until_bytes,
    )


def _segment(facts: SegmentFacts) -> SegmentRetention:
    base_offset, next_base, size, largest = facts
    return SegmentRetention(
        base_offset=base_offset, end_offset=next_base, size=size, largest_timestamp=largest
    )


def _deciding_setting(name: str, resolved: ResolvedSetting) -> DecidingSetting:
    value = resolved.value
    text = ",".join(value) if isinstance(value, tuple) else str(value)
    return DecidingSetting(name=name, value=text, source=resolved.source)
