"""Files of a log as JSON: an object a line.

    .log .checkpoint    {"base_offset": 0, "last_offset": 1, "position": 0, ...} a batch, or when
                        asked {"offset": 0, "timestamp": 1000, "key": "k", "value": null, ...}
    the others          an object an entry, with the names of its fields

Bytes are text where they are UTF-8 and {"base64": "..."} where they are not. A record without data
has its sizes instead, a control record its type besides. Records are read as strictly as a log
reads them, so an unsound batch ends the dump; a checksum that is wrong does not.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from struct import Struct
from typing import Final, TypeAlias

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import OpenFile
from cordwood.records.control import control_type
from cordwood.records.legacy import LegacyBatch
from cordwood.records.lines import LABELS, size_of
from cordwood.workbench.dump_batches import DumpedBatch, walk
from cordwood.workbench.dump_indexes import (
    ABORTED_ENTRY,
    OFFSET_ENTRY,
    TIME_ENTRY,
    Entries,
    SnapshotError,
    aborted_entries,
    index_entry,
    producer_entries,
    time_entry,
    used_entries,
)
from cordwood.workbench.dump_options import (
    DumpedFile,
    DumpOptions,
    Said,
    Tools,
    complained,
    cut_off,
    said,
)
from cordwood.workbench.spelling import Json, spelled
from cordwood.workbench.windows import Window

Objects: TypeAlias = Iterator[dict[str, Json] | Said]

TEXT_BYTES: Final = 1 << 20


def dump_objects(tools: Tools, files: Sequence[DumpedFile]) -> Iterator[Said]:
    """Dump files one after the other, each as objects."""
    for file in files:
        read = _READERS.get(file.suffix)
        if read is None:
            yield complained(f"Ignoring unknown file {file.shown}\n")
            continue
        opened = tools.files.open(file.path)
        try:
            yield from _lines(read(tools, file, opened))
        except SnapshotError as error:
            tools.findings.is_damaged = True
            yield complained(f"{error}\n")
        finally:
            opened.close()


def _lines(objects: Objects) -> Iterator[Said]:
    """Yield the objects in large pieces, and those before a fault before it rises."""
    texts: list[str] = []
    held = 0
    try:
        for each in objects:
            if isinstance(each, Said):
                yield each
                continue
            texts.append(json.dumps(each, ensure_ascii=False, separators=(",", ":")) + "\n")
            held += len(texts[-1])
            if held >= TEXT_BYTES:
                yield said("".join(texts))
                texts, held = [], 0
    except CordwoodError:
        yield said("".join(texts))
        raise
    yield said("".join(texts))


def _log_objects(tools: Tools, file: DumpedFile, opened: OpenFile) -> Objects:
    options = tools.options
    window = Window(opened, options.end_of(opened.size), spend=tools.spend)
    end = 0
    for batch in walk(window):
        end = batch.position + batch.size
        if not batch.is_wanted(options.selection):
            continue
        if not batch.is_valid():
            tools.findings.is_damaged = True
            yield complained(f"{file.shown}: wrong checksum at position {batch.position}\n")
        if options.has_records:
            yield from _record_objects(batch, options)
        else:
            yield _batch_object(batch)
    if end < window.end and not options.is_cut:
        tools.findings.is_damaged = True
        yield complained(cut_off(window.end - end, file))


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
    """Yield the records of a batch, control records with their type."""
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
        if batch.is_control:
            fields["control"] = control_type(record.key).name
        if options.has_data:
            fields["key"] = spelled(record.key)
            fields["value"] = spelled(record.value)
            fields["headers"] = [[key, spelled(value)] for key, value in record.headers]
        else:
            fields["key_size"] = size_of(record.key)
            fields["value_size"] = size_of(record.value)
            fields["header_keys"] = [key for key, _ in record.headers]
        yield fields


def _entries(tools: Tools, file: DumpedFile, opened: OpenFile, layout: Struct) -> Entries:
    window = Window(opened, opened.size, spend=tools.spend)
    return Entries(file.path, window, layout, base_offset=file.base_offset)


def _index_objects(tools: Tools, file: DumpedFile, opened: OpenFile) -> Objects:
    entries = _entries(tools, file, opened, OFFSET_ENTRY)
    return (each._asdict() for each in used_entries(entries, index_entry))


def _time_objects(tools: Tools, file: DumpedFile, opened: OpenFile) -> Objects:
    entries = _entries(tools, file, opened, TIME_ENTRY)
    return (each._asdict() for each in used_entries(entries, time_entry))


def _transaction_objects(tools: Tools, file: DumpedFile, opened: OpenFile) -> Objects:
    entries = _entries(tools, file, opened, ABORTED_ENTRY)
    return (each._asdict() for each in aborted_entries(entries))


def _producer_objects(_tools: Tools, _file: DumpedFile, opened: OpenFile) -> Objects:
    return (each._asdict() for each in producer_entries(opened.pread(opened.size, 0)))


_READERS: Final[dict[str, Callable[[Tools, DumpedFile, OpenFile], Objects]]] = {
    ".log": _log_objects,
    ".checkpoint": _log_objects,
    ".index": _index_objects,
    ".timeindex": _time_objects,
    ".txnindex": _transaction_objects,
    ".snapshot": _producer_objects,
}
