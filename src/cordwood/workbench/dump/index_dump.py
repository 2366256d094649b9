"""Indexes and snapshots as text; offset and time index are compared with the log's batches.

An entry that points outside the log, or to a position without a batch, ends the dump, as it ends
Kafka's.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import OpenFile
from cordwood.records.record_lines import raw_records
from cordwood.storage.segment.time_index import TimeEntry
from cordwood.workbench.dump.batch_lines import DumpedBatch, batch_at, walk_batches
from cordwood.workbench.dump.dump_options import (
    DumpedFile,
    DumpRun,
    OutputText,
    to_stderr,
    to_stdout,
)
from cordwood.workbench.dump.index_entry_lines import (
    ABORTED_ENTRY,
    OFFSET_ENTRY,
    TIME_ENTRY,
    DumpedEntries,
    SnapshotError,
    aborted_entries,
    aborted_line,
    ensure_sane_index,
    ensure_sane_time_index,
    index_entry,
    index_line,
    lookup_position,
    producer_entries,
    producer_line,
    time_entry,
    time_line,
    used_entries,
)
from cordwood.workbench.dump.legacy_message_lines import messages
from cordwood.workbench.file_window import FileWindow

_SMALL_WINDOW: Final = 4096


def dump_index(run: DumpRun, file: DumpedFile) -> Iterator[OutputText]:
    """Dump an offset index; the log next to it must exist."""
    log = run.files.open(file.sibling(".log"))
    opened = None
    try:
        opened = run.files.open(file.path)
        entries = _entries(run, file, opened, OFFSET_ENTRY)
        if entries.count == 0:
            yield to_stdout(f"{file.shown} is empty.\n")
        elif run.options.is_sanity_only:
            ensure_sane_index(entries)
            yield to_stdout(f"{file.shown} passed sanity check.\n")
        else:
            yield from _dump_index_entries(run, file, entries, log)
    finally:
        log.close()
        if opened is not None:
            opened.close()


def _dump_index_entries(
    run: DumpRun, file: DumpedFile, entries: DumpedEntries, log: OpenFile
) -> Iterator[OutputText]:
    size = log.size
    for entry in used_entries(entries, index_entry):
        end = min(size, entry.position + run.options.max_message_size)
        window = FileWindow(log, end, size=_SMALL_WINDOW, on_bytes=run.on_bytes)
        last_offset = _first_batch(entries, window, entry.position, size).last_offset
        if last_offset != entry.offset:
            run.findings.add_mismatch(file.path, indexed=entry.offset, found=last_offset)
        if not run.options.is_verify_only:
            yield to_stdout(index_line(entry))


def dump_time_index(run: DumpRun, file: DumpedFile) -> Iterator[OutputText]:
    """Dump a time index; the log and the offset index next to it must exist."""
    opened: list[OpenFile] = []
    try:
        for path in (file.sibling(".log"), file.sibling(".index"), file.path):
            opened.append(run.files.open(path))  # noqa: PERF401  # the open ones are closed after an error
        log, index, time_index = opened
        entries = _entries(run, file, time_index, TIME_ENTRY)
        if run.options.is_sanity_only:
            ensure_sane_time_index(entries)
            yield to_stdout(f"{file.shown} passed sanity check.\n")
        else:
            offsets = _entries(run, file, index, OFFSET_ENTRY)
            yield from _dump_time_entries(run, file, (entries, offsets), log)
    finally:
        for each in opened:
            each.close()


def _dump_time_entries(
    run: DumpRun, file: DumpedFile, indexes: tuple[DumpedEntries, DumpedEntries], log: OpenFile
) -> Iterator[OutputText]:
    entries, offsets = indexes
    previous = -1
    window = FileWindow(log, log.size, on_bytes=run.on_bytes)
    for entry in used_entries(entries, time_entry):
        position = lookup_position(offsets, entry.offset)
        _ensure_inside(entries, position, log.size)
        _check_time(run, file, entry, window, (position, previous))
        if not run.options.is_verify_only:
            yield to_stdout(time_line(entry))
        previous = entry.timestamp


def _check_time(
    run: DumpRun, file: DumpedFile, entry: TimeEntry, window: FileWindow, known: tuple[int, int]
) -> None:
    """Compare a time index entry with its batch.

    `known` is the position where the search starts, and the timestamp of the entry before.
    """
    position, previous = known
    matching = (each for each in walk_batches(window, position) if each.last_offset >= entry.offset)
    batch = next(matching, None)
    if batch is None or batch.last_offset != entry.offset:
        found = -1 if batch is None else batch.last_offset
        run.findings.add_missing(file.path, indexed=entry.offset, found=found)
        return
    latest = _latest_timestamp(run, batch)
    if latest != entry.timestamp:
        run.findings.add_wrong_time(file.path, indexed=entry.timestamp, found=latest)
    if previous >= entry.timestamp:
        run.findings.add_disorder(file.path, indexed=entry.timestamp, previous=previous)


def _latest_timestamp(run: DumpRun, batch: DumpedBatch) -> int:
    """Return the latest timestamp of a batch's records, -1 if there is none."""
    if batch.is_old:
        inside = messages(batch, limit=INT32_MAX)
        return max((message.timestamp for message in inside), default=-1)
    records = batch.as_v2()
    try:
        return run.inspector.inspect(records, limit=INT32_MAX).max_timestamp
    except CordwoodError:  # stricter than the tool, which ignores such errors
        stamps = [record.timestamp for record in raw_records(records, limit=INT32_MAX)]
        return max([-1, *stamps])


def dump_transactions(run: DumpRun, file: DumpedFile) -> Iterator[OutputText]:
    """Dump a transaction index."""
    base_offset = file.base_offset
    try:
        opened = run.files.open(file.path)
    except FileNotFoundError:
        return  # a segment without aborted transactions has no such file
    try:
        window = FileWindow(opened, opened.size, on_bytes=run.on_bytes)
        entries = DumpedEntries(file.path, window, ABORTED_ENTRY, base_offset=base_offset)
        for entry in aborted_entries(entries):
            yield to_stdout(aborted_line(entry))
    finally:
        opened.close()


def dump_producers(run: DumpRun, file: DumpedFile) -> Iterator[OutputText]:
    """Dump a producer snapshot."""
    opened = run.files.open(file.path)
    try:
        data = opened.pread(opened.size, 0)
    finally:
        opened.close()
    try:
        entries = producer_entries(data)
    except SnapshotError as error:
        run.findings.is_damaged = True
        yield to_stderr(f"{error}\n")
        return
    for entry in entries:
        yield to_stdout(producer_line(entry))


def _entries(run: DumpRun, file: DumpedFile, opened: OpenFile, layout: Struct) -> DumpedEntries:
    window = FileWindow(opened, opened.size, on_bytes=run.on_bytes)
    return DumpedEntries(opened.path, window, layout, base_offset=file.base_offset)


def _first_batch(
    entries: DumpedEntries, window: FileWindow, position: int, size: int
) -> DumpedBatch:
    """Return the batch at the position of an entry."""
    _ensure_inside(entries, position, size)
    batch = batch_at(window, position)
    if batch is None:
        raise entries.damage_error(
            "an entry does not point to a whole batch",
            expected="a batch of at most --max-message-size",
            found=f"position {position}",
        )
    return batch


def _ensure_inside(entries: DumpedEntries, position: int, size: int) -> None:
    if not 0 <= position <= size:
        raise entries.damage_error(
            "an entry points outside its log", expected=f"0 to {size}", found=position
        )
