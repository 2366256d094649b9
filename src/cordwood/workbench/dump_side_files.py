"""The files beside a log as text, the two indexes compared with the log's batches.

An entry that points outside the log, or where no batch begins, ends the dump as it ends Kafka's.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import OpenFile
from cordwood.records.lines import raw_records
from cordwood.storage.index import TimeEntry
from cordwood.workbench.dump_batches import DumpedBatch, batch_at, walk
from cordwood.workbench.dump_indexes import (
    ABORTED_ENTRY,
    OFFSET_ENTRY,
    TIME_ENTRY,
    Entries,
    SnapshotError,
    aborted_entries,
    aborted_line,
    ensure_sane_index,
    ensure_sane_time_index,
    index_entry,
    index_line,
    position_of,
    producer_entries,
    producer_line,
    time_entry,
    time_line,
    used_entries,
)
from cordwood.workbench.dump_messages import messages
from cordwood.workbench.dump_options import DumpedFile, Said, Tools, complained, said
from cordwood.workbench.windows import Window

_SMALL_WINDOW: Final = 4096


def dump_index(tools: Tools, file: DumpedFile) -> Iterator[Said]:
    """Dump an offset index; the log beside it has to be there."""
    log = tools.files.open(file.beside(".log"))
    opened = None
    try:
        opened = tools.files.open(file.path)
        entries = _entries(tools, file, opened, OFFSET_ENTRY)
        if entries.count == 0:
            yield said(f"{file.shown} is empty.\n")
        elif tools.options.is_sanity_only:
            ensure_sane_index(entries)
            yield said(f"{file.shown} passed sanity check.\n")
        else:
            yield from _dump_index_entries(tools, file, entries, log)
    finally:
        log.close()
        if opened is not None:
            opened.close()


def _dump_index_entries(
    tools: Tools, file: DumpedFile, entries: Entries, log: OpenFile
) -> Iterator[Said]:
    size = log.size
    for entry in used_entries(entries, index_entry):
        end = min(size, entry.position + tools.options.max_message_size)
        window = Window(log, end, size=_SMALL_WINDOW, spend=tools.spend)
        last_offset = _first_batch(entries, window, entry.position, size).last_offset
        if last_offset != entry.offset:
            tools.findings.add_mismatch(file.path, indexed=entry.offset, found=last_offset)
        if not tools.options.is_verify_only:
            yield said(index_line(entry))


def dump_time_index(tools: Tools, file: DumpedFile) -> Iterator[Said]:
    """Dump a time index; the log and the index beside it have to be there."""
    opened: list[OpenFile] = []
    try:
        for path in (file.beside(".log"), file.beside(".index"), file.path):
            opened.append(tools.files.open(path))  # noqa: PERF401  # all that are open get closed
        log, index, time_index = opened
        entries = _entries(tools, file, time_index, TIME_ENTRY)
        if tools.options.is_sanity_only:
            ensure_sane_time_index(entries)
            yield said(f"{file.shown} passed sanity check.\n")
        else:
            offsets = _entries(tools, file, index, OFFSET_ENTRY)
            yield from _dump_time_entries(tools, file, (entries, offsets), log)
    finally:
        for each in opened:
            each.close()


def _dump_time_entries(
    tools: Tools, file: DumpedFile, indexes: tuple[Entries, Entries], log: OpenFile
) -> Iterator[Said]:
    entries, offsets = indexes
    previous = -1
    window = Window(log, log.size, spend=tools.spend)
    for entry in used_entries(entries, time_entry):
        position = position_of(offsets, entry.offset)
        _ensure_inside(entries, position, log.size)
        _check_time(tools, file, entry, window, (position, previous))
        if not tools.options.is_verify_only:
            yield said(time_line(entry))
        previous = entry.timestamp


def _check_time(
    tools: Tools, file: DumpedFile, entry: TimeEntry, window: Window, known: tuple[int, int]
) -> None:
    """Compare an entry with the batch that it speaks of; `known` is where to look and when."""
    position, previous = known
    matching = (each for each in walk(window, position) if each.last_offset >= entry.offset)
    batch = next(matching, None)
    if batch is None or batch.last_offset != entry.offset:
        found = -1 if batch is None else batch.last_offset
        tools.findings.add_missing(file.path, indexed=entry.offset, found=found)
        return
    latest = _latest_timestamp(tools, batch)
    if latest != entry.timestamp:
        tools.findings.add_wrong_time(file.path, indexed=entry.timestamp, found=latest)
    if previous >= entry.timestamp:
        tools.findings.add_disorder(file.path, indexed=entry.timestamp, previous=previous)


def _latest_timestamp(tools: Tools, batch: DumpedBatch) -> int:
    """Return the latest timestamp of a batch's records, -1 when it has none."""
    if batch.is_old:
        inside = messages(batch, limit=INT32_MAX)
        return max((message.timestamp for message in inside), default=-1)
    records = batch.as_v2()
    try:
        return tools.inspector.inspect(records, limit=INT32_MAX).max_timestamp
    except CordwoodError:  # stricter than the tool, which reads what it can
        stamps = [record.timestamp for record in raw_records(records, limit=INT32_MAX)]
        return max([-1, *stamps])


def dump_transactions(tools: Tools, file: DumpedFile) -> Iterator[Said]:
    """Dump a transaction index."""
    base_offset = file.base_offset
    try:
        opened = tools.files.open(file.path)
    except FileNotFoundError:
        return  # a segment without aborted transactions has none
    try:
        window = Window(opened, opened.size, spend=tools.spend)
        entries = Entries(file.path, window, ABORTED_ENTRY, base_offset=base_offset)
        for entry in aborted_entries(entries):
            yield said(aborted_line(entry))
    finally:
        opened.close()


def dump_producers(tools: Tools, file: DumpedFile) -> Iterator[Said]:
    """Dump a snapshot of producers."""
    opened = tools.files.open(file.path)
    try:
        data = opened.pread(opened.size, 0)
    finally:
        opened.close()
    try:
        entries = producer_entries(data)
    except SnapshotError as error:
        tools.findings.is_damaged = True
        yield complained(f"{error}\n")
        return
    for entry in entries:
        yield said(producer_line(entry))


def _entries(tools: Tools, file: DumpedFile, opened: OpenFile, layout: Struct) -> Entries:
    window = Window(opened, opened.size, spend=tools.spend)
    return Entries(opened.path, window, layout, base_offset=file.base_offset)


def _first_batch(entries: Entries, window: Window, position: int, size: int) -> DumpedBatch:
    """Return the batch that an entry points to."""
    _ensure_inside(entries, position, size)
    batch = batch_at(window, position)
    if batch is None:
        raise entries.damaged(
            "an entry that points to no whole batch",
            expected="a batch of at most --max-message-size",
            found=f"position {position}",
        )
    return batch


def _ensure_inside(entries: Entries, position: int, size: int) -> None:
    if not 0 <= position <= size:
        raise entries.damaged(
            "an entry that points outside its log", expected=f"0 to {size}", found=position
        )
