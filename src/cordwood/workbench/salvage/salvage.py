"""Recovery of a damaged partition into a new directory: all readable records, at their offsets.

    scan     every `.log` and `.log.swap` file of the source, under any name, batch by batch
    order    correct the fields that no checksum covers, and merge overlapping files
    decide   find the end of each transaction whose marker may be lost
    write    append the batches to a new log as a replica does, which creates segments, indexes,
             epochs, aborted transactions and snapshots; then write the checkpoints

The source is only read, a few files at a time. Memory does not grow with its batches, except with
those of a file that has a finding (`file_runs`). The report lists every offset that was not
salvaged. The new directory is created in a log directory, which is created if missing; existing
partitions are not overwritten.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from cordwood.core.errors import LogDirectoryError
from cordwood.core.ports import Files, Ports
from cordwood.core.types import LeaderEpoch, TopicPartition
from cordwood.records.batch_checks import BatchChecker, PlainBatchChecker
from cordwood.records.record_batch import MAGIC
from cordwood.storage.files import file_names as names
from cordwood.storage.log.log_loader import LogPlace
from cordwood.storage.log_config import LogConfig
from cordwood.workbench.file_window import OnBytes, ignore_bytes
from cordwood.workbench.salvage.batch_run import (
    SalvagedRun,
    SourceWindows,
    runs_of,
)
from cordwood.workbench.salvage.batch_scan import first_epoch
from cordwood.workbench.salvage.file_bounds import FileBounds
from cordwood.workbench.salvage.file_merge import MergedLog, merge_runs
from cordwood.workbench.salvage.file_runs import FileReader
from cordwood.workbench.salvage.lost_offsets import SalvageLosses, find_lost
from cordwood.workbench.salvage.lost_ranges import UNKNOWN_END, LostRange, LostRanges
from cordwood.workbench.salvage.marker_bounds import gaps_with_markers
from cordwood.workbench.salvage.new_log import NewContents, create_log
from cordwood.workbench.salvage.offset_witnesses import NO_WITNESSES
from cordwood.workbench.salvage.producer_events import ProducerEvents
from cordwood.workbench.salvage.salvage_report import (
    DamagedOffsets,
    SalvagedOffsets,
    SalvageReport,
    doubtful_offsets,
    find_mended,
)
from cordwood.workbench.salvage.salvage_target import named_partition, new_directory
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch, Trust
from cordwood.workbench.salvage.source_directory import (
    SideFileFacts,
    SourceFile,
    begun_end,
    side_file_facts,
    source_files,
)
from cordwood.workbench.salvage.transaction_ends import (
    TransactionEnds,
    doubtful_producers,
    find_ends,
)
from cordwood.workbench.salvage.transaction_evidence import read_evidence
from cordwood.workbench.verify.log_end_witnesses import find_lost_tail, lost_tail_end


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvageOptions:
    """Options of a salvage: the config of the new log, and a callback for the bytes read.

    The checker decides which batches a reader can use.
    """

    config: LogConfig = field(default_factory=LogConfig)
    checker: BatchChecker = field(default_factory=PlainBatchChecker)
    on_bytes: OnBytes = ignore_bytes


DEFAULT_OPTIONS: Final = SalvageOptions()
#: The suffix of the indexes of a segment, by the rank of its log.
_SUFFIXES: Final = {0: names.SWAP, 1: ""}


class _Contents(NamedTuple):
    """The contents of the source's files: runs, batches that fit nowhere, damage; by file.

    `strays` are runs outside of the bounds of their files. `foreign` are the paths of files that
    have no segment's name, next to files of a broker.
    """

    files: list[SourceFile]
    runs: list[list[SalvagedRun]]
    strays: list[list[SalvagedRun]]
    bounds: dict[str, FileBounds]
    misfits: list[SalvagedBatch]
    damages: list[DamagedOffsets]
    foreign: frozenset[str]

    @property
    def ranked(self) -> list[list[SalvagedRun]]:
        """All runs, the best ones first."""
        return [*self.runs, *self.strays]


def salvage(
    ports: Ports,
    source: str,
    *,
    out: str,
    partition: TopicPartition | None = None,
    options: SalvageOptions = DEFAULT_OPTIONS,
) -> SalvageReport:
    """Salvage a partition's directory into the log directory `out`, and return the report.

    Without `partition` the new directory has the name of the source.
    """
    files = ports.files
    found = source_files(files, source)
    partition = partition or named_partition(source)
    target = new_directory(files, source, out=out, partition=partition)
    windows = SourceWindows(files, options.on_bytes)
    try:
        survey = _survey(windows, source, found, checker=options.checker)
        ends, runs = survey.ends, survey.merged.runs
        place = LogPlace(
            partition=partition, directory=target, config=options.config, is_clean=True
        )
        is_unended = doubtful_producers(survey.events, ends.markers)
        new = NewContents(runs, ends.markers, survey.known.log_start, is_unended)
        written = create_log(ports, source, place=place, contents=new, windows=windows)
    finally:
        windows.close()
    offsets = _reported(survey)
    return SalvageReport(
        source=source,
        path=target,
        partition=str(partition),
        log_start=written.start,
        log_end=written.end,
        batches=sum(run.batch_count for run in runs) + len(ends.markers),
        size=sum(run.size for run in runs),
        lost=offsets.lost,
        doubtful=offsets.doubtful,
        mended=offsets.mended,
        gaps=offsets.gaps,
        notes=(
            *survey.known.notes,
            *_notes(survey.merged, survey.contents.misfits),
            *survey.notes,
            *_open_notes(ends),
            *written.notes,
            *_unreadable_notes(windows),
        ),
    )


def find_losses_of(
    files: Files, source: str, *, options: SalvageOptions = DEFAULT_OPTIONS
) -> SalvagedOffsets:
    """Return the offsets that a salvage of a partition's directory reports; nothing is written."""
    found = source_files(files, source)
    windows = SourceWindows(files, options.on_bytes)
    try:
        return _reported(_survey(windows, source, found, checker=options.checker))
    finally:
        windows.close()


class _Survey(NamedTuple):
    """Everything that is known about a source before the new log is written."""

    known: SideFileFacts
    contents: _Contents
    merged: MergedLog
    ends: TransactionEnds
    events: ProducerEvents
    missing: SalvageLosses
    notes: list[str]


def _survey(
    windows: SourceWindows, source: str, found: list[SourceFile], *, checker: BatchChecker
) -> _Survey:
    """Read a source; LogDirectoryError if it has no batch."""
    files = windows.files
    known = side_file_facts(files, source)
    contents = _read_files(windows, source, found, known, checker=checker)
    cleaned_to = _cleaned_to(contents.ranked, known.cleaned_to)
    merged = _merged(contents, windows, source, cleaned_to=cleaned_to)
    known = _with_shown_ends(known, files, source, merged, contents.files)
    damages = _damages_of(contents, merged)
    missing = find_lost(merged.runs, damages, known=known, cleaned_to=cleaned_to, windows=windows)
    notes: list[str] = []
    ends, events, missing = _transaction_ends(files, source, merged, missing, notes=notes)
    return _Survey(known, contents, merged, ends, events, missing, notes)


def _reported(survey: _Survey) -> SalvagedOffsets:
    runs, ends = survey.merged.runs, survey.ends
    return SalvagedOffsets(
        lost=tuple(survey.missing.reported(ends.markers)),
        doubtful=tuple(doubtful_offsets(runs, ends.doubtful)),
        mended=tuple(find_mended(runs, ends.markers)),
        gaps=tuple(survey.missing.gaps(runs)),
    )


# -- the files


def _read_files(
    windows: SourceWindows,
    source: str,
    found: list[SourceFile],
    known: SideFileFacts,
    *,
    checker: BatchChecker,
) -> _Contents:
    """Read the files, without the segments that an undamaged `.swap` file was about to replace.

    The file may have lost its tail. So batches behind its end are kept from the segments.
    """
    others = (f"{source}/{each.name}" for each in found if each.base is None)
    foreign = others if known.is_brokers else ()
    contents = _Contents([], [], [], {}, [], [], frozenset(foreign))
    bases = sorted({each.base for each in found if each.base is not None and each.rank < 2})
    following: dict[int, int | None] = dict(zip(bases, [*bases[1:], None], strict=False))
    segments = {each.base: f"{source}/{each.name}" for each in found if each.rank == 1}
    covered: list[range] = []
    reader = FileReader(windows, known, checker=checker, foreign=contents.foreign)
    epoch: LeaderEpoch | None = None
    for file in found:
        end = _following(file, bases, following)
        swap = next((each for each in covered if file.rank and file.base in each), range(0))
        if swap and end is not None and end <= swap.stop:
            continue
        path = f"{source}/{file.name}"
        epochs = epoch, _first_epoch(windows, segments.get(end))
        around = epochs if file.rank == 1 else (None, None)
        bounds = FileBounds(file.base, end, known.marks, around, known.cleaned_to)
        suffix = _SUFFIXES.get(file.rank)
        if suffix is not None and file.base is not None:
            witnesses = known.witnesses(
                windows.files, source, base=file.base, end=end, suffix=suffix
            )
            bounds = bounds._replace(witnesses=witnesses)
        runs = reader.read(path, bounds, start=swap.stop)
        if file.rank == 0 and runs.end and not runs.damages and file.base is not None:
            swap = range(file.base, runs.end)
            _add_covered(covered, swap, [base for base in segments if base is not None])
        contents.files.append(file)
        contents.runs.append(runs.within)
        contents.strays.extend(runs.strays)
        contents.bounds[path] = bounds._replace(witnesses=NO_WITNESSES)
        if file.rank == 1 and runs.epoch is not None:
            epoch = runs.epoch
        contents.misfits.extend(runs.misfits)
        contents.damages.extend(runs.damages)
    contents.damages.sort(key=lambda each: each.first)
    return contents


def _add_covered(covered: list[range], swap: range, segments: Sequence[int]) -> None:
    """Add the offsets that a `.swap` file covers; they ascend.

    Between two files of one replacement no segment begins, so they cover the offsets between them.
    """
    last = covered[-1] if covered else range(0)
    at = bisect_left(segments, last.stop)
    if covered and (at == len(segments) or segments[at] >= swap.start):
        covered[-1] = range(last.start, max(last.stop, swap.stop))
    else:
        covered.append(swap)


def _first_epoch(windows: SourceWindows, path: str | None) -> int | None:
    """Return the leader epoch of the first batch of a segment that has one, if it is readable."""
    return None if path is None else first_epoch(windows.window(path))


def _following(
    file: SourceFile, bases: Sequence[int], following: dict[int, int | None]
) -> int | None:
    """Return the base offset of the next file."""
    if file.base is None:
        return None
    if file.base in following:
        return following[file.base]
    return next((base for base in bases if base > file.base), None)


def _cleaned_to(runs: Sequence[Sequence[SalvagedRun]], checkpoint: int) -> int:
    """Return the offset inside the log below which a cleaner has worked.

    Two facts show it: the cleaner's checkpoint, and undamaged batches that have lost records.
    """
    seen = [run.cleaned_to for each in runs for run in each if not run.is_foreign]
    ends = [run.next_offset for each in runs for run in each]
    return min(max([checkpoint, *seen, 0]), max(ends, default=0))


def _merged(
    contents: _Contents, windows: SourceWindows, source: str, *, cleaned_to: int
) -> MergedLog:
    """Return the log of all files; LogDirectoryError if it has no batch."""
    known, foreign = contents.ranked, contents.foreign
    merged = merge_runs(known, windows, cleaned_to=cleaned_to, foreign=foreign)
    moved = _moved_strays(merged, contents.bounds)
    if moved:
        merged = merge_runs([*known, moved], windows, cleaned_to=cleaned_to, foreign=foreign)
    if not merged.runs:
        raise LogDirectoryError(
            "contains no readable batch",
            path=source,
            remedy="restore it from a backup or a replica",
        )
    return merged


def _moved_strays(merged: MergedLog, bounds: Mapping[str, FileBounds]) -> list[SalvagedRun]:
    """Return the strays at whose offsets other batches are, at the base offset of their file.

    So it is if the log has no other batch at these offsets, and no copy of one in the file.
    """
    moved: list[SalvagedBatch] = []
    copied = {file for file, _ in merged.repeated}
    ends: dict[str, int] = {}
    for batch in sorted(merged.displaced, key=lambda each: (each.file, each.header.position)):
        base, limit = bounds[batch.file].base, bounds[batch.file].following
        if base is None or limit is None or batch.file in copied or batch.header.magic != MAGIC:
            continue
        start = ends.get(batch.file, base)
        ends[batch.file] = start + batch.next_offset - batch.offset
        after = bisect_left(merged.runs, start, key=lambda run: run.next_offset - 1)
        is_free = after == len(merged.runs) or merged.runs[after].first >= ends[batch.file]
        if is_free and ends[batch.file] <= limit:
            moved.append(batch._replace(offset=start, trust=Trust.MOVED))
    return list(runs_of(sorted(moved, key=lambda each: each.offset)))


# -- what is missing


def _damages_of(contents: _Contents, merged: MergedLog) -> list[DamagedOffsets]:
    """Return the damaged ranges, without those of batches that are also elsewhere."""
    return [
        each
        for each in contents.damages
        if (each.file, each.damage.position) not in merged.repeated
    ]


def _with_shown_ends(
    known: SideFileFacts,
    files: Files,
    source: str,
    merged: MergedLog,
    segments: Sequence[SourceFile],
) -> SideFileFacts:
    """Return the facts with the begin and the end that files next to the log show."""
    end = merged.runs[-1].next_offset
    found = find_lost_tail(files, source, log_end=end)
    last = max((each.base or 0 for each in segments if each.rank == 1), default=0)
    begun = begun_end(files, source, base=last) if last >= end else 0
    bases = (each.base for each in segments if each.base is not None)
    first_offset = min([known.first_offset, *bases])
    return known._replace(
        first_offset=first_offset, end=max(begun, lost_tail_end(found, known.end))
    )


class _Decided(NamedTuple):
    """The ends of transactions, the events that they are of, and what is missing by them."""

    ends: TransactionEnds
    events: ProducerEvents
    missing: SalvageLosses


def _transaction_ends(
    files: Files, source: str, merged: MergedLog, missing: SalvageLosses, *, notes: list[str]
) -> _Decided:
    """Return the ends of the transactions whose markers may be lost."""
    events = ProducerEvents(event for run in merged.runs for event in run.events)
    lost = _lost_ranges(merged, missing)
    has_gaps = any(True for _ in missing.gaps(merged.runs))
    if not list(events) or (lost.first is None and not has_gaps):
        return _Decided(TransactionEnds([], [], {}), events, missing)
    found: list[str] = []
    evidence = read_evidence(files, source, events=events, lost=lost, notes=found)
    unexplained = gaps_with_markers(events, lost, evidence=evidence)
    if unexplained:
        missing = missing.without_explanation(unexplained)
        lost, found = _lost_ranges(merged, missing), []
        evidence = read_evidence(files, source, events=events, lost=lost, notes=found)
    if lost.first is not None:
        notes += found  # Without losses, an index that contradicts the log is left to verify.
    return _Decided(find_ends(events, lost, evidence=evidence), events, missing)


def _lost_ranges(merged: MergedLog, missing: SalvageLosses) -> LostRanges:
    """Return the offsets at which a marker may have been."""
    free = (
        LostRange(each.first, UNKNOWN_END if each.last is None else each.last)
        for each in missing.lost
        if not each.is_inside_batch
    )
    # A batch of a search, or from elsewhere, may stand where a marker was.
    taken = (
        LostRange(run.first, run.last, is_free=False)
        for run in merged.runs
        if run.only is not None and run.only.trust < Trust.REBUILT
    )
    return LostRanges(
        [*free, *taken],
        cleaned_to=max(missing.cleaned_to, merged.runs[0].first),
        gaps=missing.between_runs,
        markers=missing.markers,
    )


# -- notes


def _notes(merged: MergedLog, misfits: Sequence[SalvagedBatch]) -> Iterator[str]:
    """Yield notes about batches that were left out without a loss."""
    if merged.duplicates:
        yield f"{merged.duplicates} duplicate batches were left out"
    for batch in (*misfits, *merged.contradicting):
        yield (
            f"{batch.file}: the batch at position {batch.header.position} was left out: its offsets"
            f" {batch.offset} to {batch.last_offset} are out of order, or in other batches too"
        )


def _open_notes(ends: TransactionEnds) -> Iterator[str]:
    for producer_id, first in sorted(ends.unended.items(), key=lambda each: each[1]):
        yield (
            f"the transaction of producer {producer_id} from offset {first} on has no end: readers"
            f" with read_committed stop there until its coordinator or an administrator ends it"
        )


def _unreadable_notes(windows: SourceWindows) -> Iterator[str]:
    for each in windows.unreadable.ranges():
        yield f"{each.path}: {each.cause}, from position {each.position} on"
