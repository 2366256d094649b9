"""Meaning of a directory to brokers and readers, to decide whether a damage is harmless.

A damage that `verify` does not report must be harmless by proof: the records of both isolation
levels, lookups by time, entries of transaction indexes and epochs are those of the healthy log.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from cordwood.core.errors import CordwoodError
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.storage.files.header_scan import headers
from cordwood.storage.reader.path_resolution import open_reader
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench.partition_columns import ColumnsRequest, read_partition
from cordwood.workbench.topic_settings_lookup import SettingsFinder
from cordwood.workbench.verify.findings import Verification
from cordwood.workbench.verify.verify import verify
from tests.adversary.random_logs import NAME, RandomLog
from tests.adversary.witness_damages import Directory, directory_of

SOURCE = f"/source/{NAME}"
COLUMNS = ("offset", "timestamp", "key", "value")
_EPOCHS = "leader-epoch-checkpoint"


class Meaning(NamedTuple):
    """The rows of both isolation levels, answers by time, epochs by batch; an error instead.

    `aborts` and `lost_lookups` are what brokers find, and do not find, by their indexes.
    `open_transactions` are those of a broker after its next start.
    """

    uncommitted: object = None
    committed: object = None
    times: object = None
    epochs: object = None
    aborts: object = None
    lost_lookups: object = None
    open_transactions: object = None
    error: str = ""


def placed(directory: Directory) -> MemoryFiles:
    """Return a file system with the log directory `/source`, and the partition in it."""
    files = MemoryFiles(VirtualClock())
    folders = {"/source": directory.beside, SOURCE: directory.files}
    folders |= {f"/source/{name}": contents for name, contents in directory.also.items()}
    for path, contents in folders.items():
        files.make_directory(path)
        for name, data in contents.items():
            files.create(f"{path}/{name}").append(data)
    return files


def verified(directory: Directory, policy: str) -> Verification:
    """Verify a log directory, with the policy of the topic."""
    files = placed(directory)
    settings = SettingsFinder(files, given={"cleanup.policy": policy})
    return verify(files, ["/source"], settings=settings)


def mean_the_same(hurt: Directory, log: RandomLog) -> bool:
    """Return whether a damaged directory means the same as the healthy one of a log.

    A transaction of which retention has removed all data may be forgotten: then committed records
    behind it are returned, which it held up.
    """
    found, healthy = meaning_of(hurt, log), meaning_of(directory_of(log), log)
    rows, known = found.committed, healthy.committed
    if isinstance(rows, list) and isinstance(known, list) and rows[: len(known)] == known:
        states = {each.content.offset: each.state for each in log.records}
        if all(states[each[0]] in {"plain", "committed"} for each in rows[len(known) :]):
            found = found._replace(committed=known)
    return found == healthy


def meaning_of(directory: Directory, log: RandomLog) -> Meaning:
    """Return what a directory means, a copy of that of a log or a damaged one."""
    files = placed(directory)
    try:
        return Meaning(
            _rows(files, is_committed=False),
            _rows(files, is_committed=True),
            _times(files),
            _epochs(files, directory),
            _aborts(files, directory, log),
            _lost_lookups(directory),
            _open_transactions(directory, log),
        )
    except CordwoodError as error:
        return Meaning(error=str(error))


def _aborts(files: MemoryFiles, directory: Directory, log: RandomLog) -> list[object]:
    """Return what brokers filter by the transaction indexes: by entry, the batches that it hides.

    The offset of the marker and the last stable offset decide how far a broker searches: behind a
    stable offset that is too low it only reads more entries. An entry that hides nothing has no
    effect.
    """
    names = sorted(name for name in directory.files if name.endswith(".txnindex"))
    entries = [entry for name in names for entry in _entries(directory.files[name], 34)]
    reader = open_reader(files, SOURCE)
    batches = [each.header for each in reader.batches(reader.log_start())]
    found: list[object] = []
    for entry in entries:
        _, producer_id, first, last, stable = struct.unpack(">hqqqq", entry)
        hidden = tuple(
            each.base_offset
            for each in batches
            if each.producer_id == producer_id
            and each.is_transactional
            and not each.is_control
            and first <= each.last_offset < last
        )
        if hidden:
            found.append((entry[:2], producer_id, hidden, last, max(stable, _stable(log, last))))
    return found


def _stable(log: RandomLog, marker: int) -> int:
    """Return the last stable offset behind a marker."""
    opened: dict[int, int] = {}
    for each in log.plan:
        if each.base_offset <= marker and each.kind != "data":
            opened.pop(each.producer_id, None)
        elif each.base_offset <= marker and each.is_transactional:
            opened.setdefault(each.producer_id, each.base_offset)
    return min(opened.values(), default=marker + 1)


def _lost_lookups(directory: Directory) -> list[int]:
    """Return the first and last offsets of batches that a broker does not find by its index."""
    found: list[int] = []
    for name in sorted(name for name in directory.files if name.endswith(".index")):
        base, log = int(name[:20]), directory.files.get(name.replace(".index", ".log"), b"")
        entries = [struct.unpack(">ii", each) for each in _entries(directory.files[name], 8)]
        batches = list(headers(partial(_read, log), 0, len(log)))
        places = [(each.base_offset, each.position) for each in batches]
        places += [(each.last_offset, each.position) for each in batches]
        for offset, place in places:
            starts = (at for relative, at in entries if base + relative <= offset)
            if max(starts, default=0) > place:
                found.append(offset)
    return found


def _open_transactions(directory: Directory, log: RandomLog) -> list[tuple[int, str]]:
    """Return the producers with an open transaction, after a start of a broker that has stopped.

    A broker reads the newest snapshot above the log start, and all batches behind that or the log
    start; without any snapshot it reads none. An open transaction whose data are below the log
    start holds up no reader.
    """
    names = sorted(name for name in directory.files if name.endswith(".snapshot"))
    if not names:
        return []
    newest = int(names[-1][:20])
    known = _snapshot_transactions(directory.files[names[-1]]) if newest > log.start else ()
    opened = {producer_id: first for producer_id, first in known if first >= 0}
    transactional = {each.producer_id for each in log.plan if each.is_transactional}
    for each in log.batches:
        if each.producer_id not in transactional or each.last_offset < max(newest, log.start):
            continue
        if each.kind == "data":
            opened.setdefault(each.producer_id, each.base_offset)
        else:
            opened.pop(each.producer_id, None)
    found: list[tuple[int, str]] = []
    for producer_id, first in opened.items():
        own = [each for each in log.plan if each.producer_id == producer_id]
        is_ended = any(each.kind != "data" and each.base_offset > first for each in own)
        if is_ended:
            found.append((producer_id, "has ended"))
        elif any(each.last_offset >= log.start for each in own if each.base_offset >= first):
            found.append((producer_id, "is open"))
    return sorted(found)


def _snapshot_transactions(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield each producer of a snapshot, and the first offset of its transaction."""
    for at in range(10, len(data), 46):
        producer_id, first = struct.unpack_from(">q30xq", data, at)
        yield producer_id, first


def _read(data: bytes, length: int, position: int) -> bytes:
    return data[position : position + length]


def latest_times(directory: Directory) -> dict[str, bytes]:
    """Return the time of the last entry of each time index, by which brokers delete."""
    found = {name: _entries(data, 12) for name, data in directory.files.items() if "timei" in name}
    return {name: entries[-1][:8] for name, entries in found.items() if entries}


def _entries(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def _rows(files: MemoryFiles, *, is_committed: bool) -> list[object]:
    reader = open_reader(files, SOURCE)
    request = ColumnsRequest(columns=COLUMNS, start=reader.log_start(), is_committed=is_committed)
    found: list[object] = []
    for rows in read_partition(reader, request, decoder=PlainDecoder()):
        found += zip(*(rows[name].to_pylist() for name in COLUMNS), strict=True)
    return found


def _times(files: MemoryFiles) -> list[object]:
    reader = open_reader(files, SOURCE)
    times = {found.header.max_timestamp for found in reader.batches()}
    return [
        reader.offset_for_timestamp(each) for time in sorted(times) for each in (time, time + 1)
    ]


def _epochs(files: MemoryFiles, directory: Directory) -> list[object]:
    """Return the epoch of each batch by the checkpoint, and the ends of epochs by brokers.

    The epoch is the batch's own if it is in no entry. An epoch ends at the start of the next one:
    followers and consumers truncate to that. If it is in a gap, it means the end of the batch
    before; the start of the first epoch ends nothing.
    """
    lines = directory.files[_EPOCHS].decode().splitlines()[2:]
    entries = [tuple(map(int, line.split())) for line in lines]
    starts = [start for _, start in entries]
    batches = [each.header for each in open_reader(files, SOURCE).batches()]
    found: list[object] = []
    for each in batches:
        after = bisect_right(starts, each.base_offset)
        own = each.partition_leader_epoch
        found.append(own if own < 0 or not after else entries[after - 1][0])
    for epoch, start in entries[1:]:
        before = [each for each in batches if each.base_offset < start]
        is_inside = bool(before) and before[-1].last_offset >= start
        found.append((epoch, len(before), start if is_inside else None))
    return found
