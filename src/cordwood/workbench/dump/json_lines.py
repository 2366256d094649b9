"""Log files as JSON, one object a line.

    .log .checkpoint    {"base_offset": 0, "last_offset": 1, "position": 0, ...} for a batch, or
                        {"offset": 0, "timestamp": 1000, "key": "k", "value": null, ...} for a
                        record, if records are requested
    other files         an object for each entry, with the names of its fields

With a decoder of an internal topic, key and value of its records are objects; the value of a
tombstone is "<DELETE>". Other bytes are text if they are UTF-8, otherwise {"base64": "..."}.
Without data a record has sizes instead of key and value. A control record also has its type.
Records are parsed as strictly as in a log, so a malformed batch ends the dump; a wrong checksum
does not.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from struct import Struct
from typing import Final, TypeAlias

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import OpenFile
from cordwood.records.control_records import control_type
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.record_lines import LABELS, size_of
from cordwood.workbench.dump.batch_lines import DumpedBatch, walk_batches
from cordwood.workbench.dump.dump_options import (
    DumpedFile,
    DumpOptions,
    DumpRun,
    OutputText,
    to_stderr,
    to_stdout,
    trailing_bytes_text,
)
from cordwood.workbench.dump.index_entry_lines import (
    ABORTED_ENTRY,
    OFFSET_ENTRY,
    TIME_ENTRY,
    DumpedEntries,
    SnapshotError,
    aborted_entries,
    index_entry,
    producer_entries,
    time_entry,
    used_entries,
)
from cordwood.workbench.file_window import FileWindow
from cordwood.workbench.json_bytes import Json, bytes_to_json

Objects: TypeAlias = Iterator[dict[str, Json] | OutputText]

TEXT_BYTES: Final = 1 << 20


def dump_objects(run: DumpRun, files: Sequence[DumpedFile]) -> Iterator[OutputText]:
    """Dump files one after the other as JSON objects."""
    for file in files:
        read = _READERS.get(file.suffix)
        if read is None:
            yield to_stderr(f"Ignoring unknown file {file.shown}\n")
            continue
        opened = run.files.open(file.path)
        try:
            yield from _lines(read(run, file, opened))
        except SnapshotError as error:
            run.findings.is_damaged = True
            yield to_stderr(f"{error}\n")
        finally:
            opened.close()


def _lines(objects: Objects) -> Iterator[OutputText]:
    """Yield the objects as lines, in large pieces; the objects before an error come first."""
    texts: list[str] = []
    held = 0
    try:
        for each in objects:
            if isinstance(each, OutputText):
                yield each
                continue
            texts.append(json.dumps(each, ensure_ascii=False, separators=(",", ":")) + "\n")
            held += len(texts[-1])
            if held >= TEXT_BYTES:
                yield to_stdout("".join(texts))
                texts, held = [], 0
    except CordwoodError:
        yield to_stdout("".join(texts))
        raise
    yield to_stdout("".join(texts))


def _log_objects(run: DumpRun, file: DumpedFile, opened: OpenFile) -> Objects:
    options = run.options
    window = FileWindow(opened, options.end_of(opened.size), on_bytes=run.on_bytes)
    end = 0
    for batch in walk_batches(window):
        end = batch.position + batch.size
        if not batch.is_selected(options.selection):
            continue
        if not batch.is_valid():
            run.findings.is_damaged = True
            yield to_stderr(f"{file.shown}: wrong checksum at position {batch.position}\n")
        if options.has_records:
            yield from _record_objects(batch, options)
        else:
            yield _batch_object(batch)
    if end < window.end and not options.is_cut:
        run.findings.is_damaged = True
        yield to_stderr(trailing_bytes_text(window.end - end, file))


def _batch_object(batch: DumpedBatch) -> dict[str, Json]:
    fields: dict[str, Json] = {
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "position": batch.position,
        "size": batch.size,
        "magic": batch.magic,
        "codec": batch.place.codec(batch.attributes).kafka_name,
        "timestamp_type": LABELS[batch.timestamp_type].decode(),
        "max_timestamp": batch.max_timestamp,
        "crc": batch.crc,
        "is_valid": batch.is_valid(),
    }
    if batch.is_old:
        return fields
    v2 = batch.as_v2()
    return fields | {
        "count": v2.count,
        "base_timestamp": v2.base_timestamp,
        "producer_id": v2.producer_id,
        "producer_epoch": v2.producer_epoch,
        "base_sequence": v2.base_sequence,
        "partition_leader_epoch": v2.partition_leader_epoch,
        "is_transactional": v2.is_transactional,
        "is_control": v2.is_control,
        "delete_horizon_ms": v2.delete_horizon_ms,
    }


def _record_objects(batch: DumpedBatch, options: DumpOptions) -> Objects:
    """Yield the records of a batch; control records have their type."""
    reading = LegacyBatch(batch.view[: batch.size]) if batch.is_old else batch.as_v2()
    has = None if options.selection is None else options.selection.has
    for record in reading.records(limit=INT32_MAX):
        if has is not None and not has(record.offset, record.timestamp):
            continue
        fields: dict[str, Json] = {
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestamp_type": LABELS[record.timestamp_type].decode(),
            "sequence": record.sequence,
        }
        parser = None if batch.is_control else options.record_parser
        if batch.is_control:
            fields["control"] = control_type(record.key).name
        if options.has_data and parser is not None:
            fields["key"], fields["value"] = parser.parse(
                record.offset, key=record.key, value=record.value
            )
            fields["headers"] = [[key, bytes_to_json(value)] for key, value in record.headers]
        elif options.has_data:
            fields["key"] = bytes_to_json(record.key)
            fields["value"] = bytes_to_json(record.value)
            fields["headers"] = [[key, bytes_to_json(value)] for key, value in record.headers]
        else:
            fields["key_size"] = size_of(record.key)
            fields["value_size"] = size_of(record.value)
            fields["header_keys"] = [key for key, _ in record.headers]
        yield fields


def _entries(run: DumpRun, file: DumpedFile, opened: OpenFile, layout: Struct) -> DumpedEntries:
    window = FileWindow(opened, opened.size, on_bytes=run.on_bytes)
    return DumpedEntries(file.path, window, layout, base_offset=file.base_offset)


def _index_objects(run: DumpRun, file: DumpedFile, opened: OpenFile) -> Objects:
    entries = _entries(run, file, opened, OFFSET_ENTRY)
    return (each._asdict() for each in used_entries(entries, index_entry))


def _time_objects(run: DumpRun, file: DumpedFile, opened: OpenFile) -> Objects:
    entries = _entries(run, file, opened, TIME_ENTRY)
    return (each._asdict() for each in used_entries(entries, time_entry))


def _transaction_objects(run: DumpRun, file: DumpedFile, opened: OpenFile) -> Objects:
    entries = _entries(run, file, opened, ABORTED_ENTRY)
    return (each._asdict() for each in aborted_entries(entries))


def _producer_objects(_tools: DumpRun, _file: DumpedFile, opened: OpenFile) -> Objects:
    return (each._asdict() for each in producer_entries(opened.pread(opened.size, 0)))


_READERS: Final[dict[str, Callable[[DumpRun, DumpedFile, OpenFile], Objects]]] = {
    ".log": _log_objects,
    ".checkpoint": _log_objects,
    ".index": _index_objects,
    ".timeindex": _time_objects,
    ".txnindex": _transaction_objects,
    ".snapshot": _producer_objects,
}
