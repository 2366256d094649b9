"""Conditions that hold after any crash.

1. The logs open, and no directory goes offline.
2. Every promised batch is present, in order, once, and its leader epoch is known.
3. Every present batch was appended, to this partition, at this offset; offsets rise. If a
   later segment has survived and the end of the previous one has not, there is a gap, as in Kafka.
4. Batches that a cleaner has removed do not return below its checkpoint.
5. A log can be written to, shut down cleanly, and opened again with the same content.
6. Then each index entry names a batch, its last offset and its position; times never decrease.
"""

from collections.abc import Mapping
from itertools import pairwise

from cordwood.core.types import Offset, TopicPartition
from cordwood.storage.files.header_scan import headers
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.offset_index import OffsetIndex
from cordwood.storage.segment.segment_files import SegmentPath
from cordwood.storage.segment.time_index import TimeIndex
from tests.crash.ledger import Batch, Ledger
from tests.crash.world import World, batches_of


def check(world: World, ledger: Ledger) -> None:
    """Hold reopened logs to the accounts of the workload."""
    assert all(directory.is_online for directory in world.manager.directories), world.told
    for partition, promised in ledger.promised.items():
        if promised:
            _check_promises(world, partition, promised)
    before = {}
    for partition, log in world.manager.logs.items():
        found = batches_of(log)
        _check_batches(found, log, ever=ledger.ever[partition])
        _check_gone(found, log, gone=ledger.gone[partition])
        before[partition] = (log.bounds.log_start, found)
    _check_life_goes_on(world, before)


def _check_promises(world: World, partition: TopicPartition, promised: list[Batch]) -> None:
    log = world.manager.get(partition)
    assert log is not None, f"{partition} was promised and is not there"
    found = [each for each in batches_of(log) if each in set(promised)]
    missing = [base for base, _ in promised if base not in {base for base, _ in found}]
    assert found == promised, f"{partition}: promised batches at {missing} are not there"
    for base, data in promised:
        written = int.from_bytes(data[12:16], signed=True)
        known = log.epochs.epoch_for(Offset(base))
        assert known == written, f"{partition}: epoch {known} at {base}, where {written} wrote"


def _check_batches(found: list[Batch], log: Log, *, ever: set[Batch]) -> None:
    for batch in found:
        assert batch in ever, f"{log}: no writer wrote the batch at {batch[0]}"
    for (base, data), (following, _) in pairwise(found):
        last = base + int.from_bytes(data[23:27])
        assert following > last, f"{log}: {following} follows {last}"


def _check_gone(found: list[Batch], log: Log, *, gone: set[Batch]) -> None:
    clean = log.bounds.cleaned_to or 0
    back = [base for base, data in found if base < clean and (base, data) in gone]
    assert not back, f"{log}: clean up to {clean}, and {back} are there again"


def _check_indexes(world: World, log: Log) -> None:
    """Compare each segment's indexes with its batches, opened apart from the log."""
    for facts in log.segment_facts():
        segment = LogSegment.open(
            OpenFileCache(world.files, 4),
            SegmentPath(log.directory, facts.base_offset),
            config=LogConfig(),
            now_ms=0,
        )
        view = segment.view
        known = {each.position: each.last_offset for each in headers(view.pread, 0, facts.size)}
        _check_offset_index(segment.files.offset_index, known)
        _check_time_index(segment.files.time_index, set(known.values()), facts.base_offset)


def _check_offset_index(index: OffsetIndex, known: dict[int, int]) -> None:
    for number in range(index.entries.count):
        entry = index.entry(number)
        assert known.get(entry.position) == entry.offset, f"{index.entries.path}: {entry} is wrong"


def _check_time_index(index: TimeIndex, offsets: set[int], base_offset: int) -> None:
    entries = [index.entry(number) for number in range(index.entries.count)]
    for earlier, later in pairwise(entries):
        assert earlier < later, f"{index.entries.path}: {later} follows {earlier}"
    for entry in entries:
        is_known = entry.offset in offsets or entry.offset == base_offset
        assert is_known, f"{index.entries.path}: {entry} names no batch"


def _check_life_goes_on(
    world: World, before: Mapping[TopicPartition, tuple[int, list[Batch]]]
) -> None:
    """Append to every log, stop in order, open again: all of it is there."""
    for partition in before:
        world.append(partition.partition)
    world.restart()
    for partition, (log_start, found) in before.items():
        log = world.manager.logs[partition]
        assert log.bounds.log_start == log_start, f"{log} started at {log_start} before"
        assert batches_of(log)[: len(found)] == found, f"{log} has changed by a restart"
        assert batches_of(log)[len(found) :] == world.ledger.present[partition]
        _check_indexes(world, log)
