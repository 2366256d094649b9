"""One partition compacted where it lies, while no broker has its directory.

    look     bounds, settings, what holds segments back; nothing is written: a dry run ends here
    refuse   a topic that is not said to be compacted; keys to be erased where no pass comes to
    pass     the runner's, into .cleaned files beside what is there
    swap     group by group, under the storage's own protocol: a crash leaves the old or the new
    tell     how far the log is clean, where a broker's checkpoint is; the certificate

It is the broker's own engine and the broker's own rules, but for one: whether a log is dirty enough
is not asked, for somebody wants it now.
"""

import json
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Final, NamedTuple

from cordwood.compaction.certificate import Certificate
from cordwood.compaction.choosing import Assessment, assess, holds_of
from cordwood.compaction.directory_facts import look, plan_of
from cordwood.compaction.erasing import SALT_BYTES, seals_of
from cordwood.compaction.job import CleanerRunner, Cleaning, CleaningJob, PassControl, Verify
from cordwood.compaction.key_hash import SEEDS
from cordwood.compaction.plan import CleaningPlan, SourceSegment
from cordwood.compaction.planning import NO_WISHES, Wishes
from cordwood.core.errors import SettingError
from cordwood.core.ports import Clock, Files, Random
from cordwood.core.types import Offset
from cordwood.records.chunk import Decoder
from cordwood.storage.atomic import directory_of
from cordwood.storage.checkpoints import (
    CLEANER_OFFSETS,
    read_offset_checkpoint,
    write_offset_checkpoint,
)
from cordwood.storage.log import Log
from cordwood.storage.reader_place import open_reader, partition_paths, read_high_watermark
from cordwood.storage.replacing import Replacement
from cordwood.workbench.keys_found import offsets_of_keys
from cordwood.workbench.owned import named_partition, owned
from cordwood.workbench.places import is_log_directory
from cordwood.workbench.settings_found import GIVEN, FoundSettings, SettingsFinder

_IO_BUFFER_BYTES: Final = 4 << 20
_OFFSETS_SHOWN: Final = 3
_UNTIL: Final = ("it is not wanted",)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerTools:
    """What a log's owner works with; the decoder finds keys that are to be erased."""

    files: Files
    clock: Clock
    random: Random
    decoder: Decoder


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactTools(OwnerTools):
    """And who makes the passes."""

    runner: CleanerRunner
    control: PassControl


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactOrder:
    """What is wanted. `is_rolled`: the active segment is closed first, so that it can be cleaned.

    `is_newer_left`: keys are erased though records of them stay where no pass comes to. `seed` is
    that of a pass to be repeated; None: one that nobody can foresee.
    """

    wishes: Wishes = NO_WISHES
    memory_bytes: int = 128 << 20
    verify: Verify = Verify.SAMPLE
    seed: int | None = None
    is_rolled: bool = False
    is_newer_left: bool = False


class PlaceToCompact(NamedTuple):
    """A partition's directory, and its settings."""

    path: str
    found: FoundSettings


@dataclass(frozen=True, slots=True)
class SegmentHeld:
    """A segment that is not touched, and what holds it back."""

    base_offset: int
    size: int
    holds: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactReport:
    """What was to be done, and, unless it was a dry run, what has been.

    `groups` are the base offsets of the segments that become one. Without a group there was nothing
    to do. `newer` are offsets of records of erased keys that stay.
    """

    path: str
    partition: str
    log_start: int
    log_end: int
    first_dirty: int
    end: int
    dirty_ratio: float
    size: int
    groups: tuple[tuple[int, ...], ...]
    held: tuple[SegmentHeld, ...]
    warning: str | None = None
    newer: tuple[int, ...] = ()
    certificate: Certificate | None = None

    def to_json(self) -> str:
        """Return the same as a JSON object."""
        fields = asdict(self)
        told = self.certificate
        return json.dumps({**fields, "certificate": told and json.loads(told.to_json())})


def places_to_compact(
    files: Files, paths: Iterable[str], *, settings: SettingsFinder
) -> list[PlaceToCompact]:
    """Return the partitions at some paths; of a log directory those that metadata call compacted.

    SettingError where there is none, or where it is given: that would be said of every topic.
    """
    found = []
    for path in paths:
        if not is_log_directory(files, path):
            found.append(_place_to_compact(path, settings))
            continue
        inside = [_place_to_compact(each, settings) for each in partition_paths(files, path)]
        if any(each.found.cleanup.source == GIVEN for each in inside):
            why = "cleanup.policy is given for all topics of"
            raise _refusal(why, path, "give the directories of the partitions that are meant")
        compacted = [each for each in inside if each.found.cleanup.is_compacted]
        if not compacted:
            why = "no metadata say of a topic that it is compacted in"
            raise _refusal(
                why, path, "give partitions' own, and say --config cleanup.policy=compact"
            )
        found += compacted
    return found


def compact(
    tools: CompactTools, path: str, *, found: FoundSettings, order: CompactOrder
) -> CompactReport:
    """Compact a partition that nobody uses.

    LogDirectoryError if it is in use or is none; SettingError if its topic is not compacted, or
    erased keys would stay; CleaningFailedError, CleaningStoppedError: nothing has been changed.
    """
    _ensure_compacted(path, found)
    with owned(
        tools.files, path, config=found.config, clock=tools.clock, random=tools.random
    ) as log:
        begun = begin(tools, log, found=found, order=order)
        if begun.job is None:
            return begun.report
        return swap_in(tools, log, begun=begun, cleaning=tools.runner.run(begun.job, tools.control))


class Begun(NamedTuple):
    """What there is to do for a log, if anything, and how far it is clean already."""

    report: CompactReport
    job: CleaningJob | None
    clean_to: int


def begin(tools: OwnerTools, log: Log, *, found: FoundSettings, order: CompactOrder) -> Begun:
    """Return what is to be done for a log that nobody uses; SettingError as `compact`."""
    _ensure_compacted(log.directory, found)
    if order.is_rolled and log.each_segment[-1].size:
        log.roll()
    planned = _plan(tools, log.directory, found, order)
    if planned.plan is None:
        return Begun(planned.report, None, planned.clean_to)
    job = CleaningJob(
        directory=log.directory,
        plan=planned.plan,
        memory_bytes=order.memory_bytes,
        io_buffer_bytes=_IO_BUFFER_BYTES,
        verify=order.verify,
        seed=tools.random.below(SEEDS) if order.seed is None else order.seed,
    )
    return Begun(planned.report, job, planned.clean_to)


def swap_in(tools: OwnerTools, log: Log, *, begun: Begun, cleaning: Cleaning) -> CompactReport:
    """Let what a pass has made take the place of the old, and return what was done."""
    assert begun.job is not None, "there was something to do"
    for replaced, cleaned in cleaning.groups:
        bases = tuple(each.base_offset for each in cleaned)
        log.begin_replacing(Replacement(replaced, bases, log.bounds.cuts)).finish()
    _tell_clean(tools.files, log, max(cleaning.end, begun.clean_to))
    salt = tools.random.token(SALT_BYTES)
    seals = seals_of(begun.job.plan.erased_keys, salt=salt)
    certificate = replace(cleaning.certificate, erased_keys=seals)
    return replace(begun.report, certificate=certificate)


def plan_compaction(
    tools: OwnerTools, path: str, *, found: FoundSettings, order: CompactOrder
) -> CompactReport:
    """Return what `compact` would do; nothing is written, and the directory may be in use."""
    _ensure_compacted(path, found)
    return _plan(tools, path, found, order).report


@dataclass(frozen=True, slots=True)
class _Planned:
    plan: CleaningPlan | None
    report: CompactReport
    clean_to: int


def _plan(tools: OwnerTools, path: str, found: FoundSettings, order: CompactOrder) -> _Planned:
    now_ms, partition = tools.clock.now_ms(), named_partition(path)
    with closing(open_reader(tools.files, path)) as reader:
        seen = look(
            reader,
            partition=partition,
            config=found.config,
            high_watermark=read_high_watermark(tools.files, path),
        )
        assessment = assess(seen.facts, now_ms)
        plan = plan_of(seen, assessment, now_ms=now_ms, wishes=order.wishes)
        end = seen.facts.segments[0].base_offset if plan is None else plan.end
        keys = order.wishes.erased_keys
        newer = offsets_of_keys(reader, keys, start=end, decoder=tools.decoder) if keys else ()
    if newer and not order.is_newer_left:
        _refuse_newer(path, newer, end)
    report = _report(path, assessment, plan, end=end, now_ms=now_ms)
    return _Planned(plan, replace(report, newer=newer), assessment.first_dirty.offset)


def _refusal(why: str, path: str, remedy: str) -> SettingError:
    return SettingError(f"{why} {path}", key="cleanup.policy", remedy=remedy)


def _place_to_compact(path: str, settings: SettingsFinder) -> PlaceToCompact:
    return PlaceToCompact(path, settings.of(directory_of(path), named_partition(path).topic))


def _ensure_compacted(path: str, found: FoundSettings) -> None:
    """Refuse what would lose records that nobody said may go."""
    cleanup = found.cleanup
    if cleanup.is_compacted:
        return
    why = "nobody says that its topic is compacted"
    if cleanup.is_compacted is not None:
        why = f"its topic is not compacted, says {cleanup.source}"
    raise SettingError(
        f"{path}: {why}",
        key="cleanup.policy",
        remedy="if it is to be, say --config cleanup.policy=compact",
    )


def _refuse_newer(path: str, newer: tuple[int, ...], end: int) -> None:
    shown = ", ".join(map(str, newer[:_OFFSETS_SHOWN]))
    more = f" and {len(newer) - _OFFSETS_SHOWN} more" if len(newer) > _OFFSETS_SHOWN else ""
    raise SettingError(
        f"{path}: keys to be erased stand at offsets {shown}{more}, where no pass comes to: it "
        f"ends at {end}",
        key="erase-key",
        remedy="with --roll the active segment is compacted too; --leave-newer erases the others",
    )


def _report(
    path: str, assessment: Assessment, plan: CleaningPlan | None, *, end: int, now_ms: int
) -> CompactReport:
    facts = assessment.facts
    holds = holds_of(facts, now_ms)
    held = tuple(
        SegmentHeld(each.base_offset, each.size, tuple(hold.value for hold in reasons) or _UNTIL)
        for each, reasons in zip(facts.segments, holds, strict=True)
        if each.base_offset >= end
    )
    groups: tuple[tuple[SourceSegment, ...], ...] = () if plan is None else plan.groups
    return CompactReport(
        path=path,
        partition=str(facts.partition),
        log_start=facts.log_start,
        log_end=facts.log_end,
        first_dirty=assessment.first_dirty.offset,
        end=end,
        dirty_ratio=assessment.dirty_ratio,
        size=0 if plan is None else plan.size,
        groups=tuple(tuple(each.base_offset for each in group) for group in groups),
        held=held,
        warning=assessment.first_dirty.warning,
    )


def _tell_clean(files: Files, log: Log, offset: int) -> None:
    """Let the checkpoint say how far the log is clean.

    Beside a copy of one partition there is none yet; without it, whole batches that were taken
    would look as if they were lost.
    """
    path = f"{directory_of(log.directory)}/{CLEANER_OFFSETS}"
    known = read_offset_checkpoint(files, path)
    write_offset_checkpoint(files, path, offsets={**known, log.partition: Offset(offset)})
