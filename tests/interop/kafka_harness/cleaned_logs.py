"""Content of a cleaned directory, as values that can be compared between two cleaners.

A batch has all fields but its size, its checksum and its base timestamp, which depend on the
encoding of records. A segment has its name, its time, and its transaction index; the log has its
epochs and its producer state. Data below the log's start are ignored, because no reader sees them:
Kafka does not know the aborted ones there. `docs/formats/compaction.md` explains both.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from cordwood.storage.segment.abstract_index import InMemoryEntries
from cordwood.storage.segment.transaction_index import (
    ABORTED_TXN_SIZE,
    AbortedTxn,
    TransactionIndex,
)
from tests.interop.kafka_harness.log_twins import files_of
from tests.interop.kafka_harness.ours import read_ours
from tests.interop.kafka_harness.spec import SeenBatch

_OF_THE_LOG = (".snapshot", "leader-epoch-checkpoint")


class CleanedSegment(NamedTuple):
    """A segment: its batches by their base offsets, and when its file was last written to."""

    batches: dict[int, SeenBatch]
    aborted: tuple[AbortedTxn, ...]
    modified_ms: int


def segments_of(directory: Path, *, log_start: int) -> dict[int, CleanedSegment]:
    """Return the segments, by their base offsets, with what is in them from a log's start on."""
    return {
        int(path.stem): CleanedSegment(
            {
                batch.base_offset: replace(batch, size=0, crc=0)
                for batch in read_ours(path.read_bytes())
                if batch.last_offset >= log_start
            },
            tuple(each for each in _aborted(path) if each.last_offset >= log_start),
            path.stat().st_mtime_ns // 1_000_000,
        )
        for path in sorted(directory.glob("*.log"))
    }


def differences(ours: Path, theirs: Path, *, log_start: int) -> Iterator[str]:
    """Yield what is not the same in two directories, in words."""
    our_segments = segments_of(ours, log_start=log_start)
    their_segments = segments_of(theirs, log_start=log_start)
    if our_segments.keys() != their_segments.keys():
        yield f"segments: ours {sorted(our_segments)}, theirs {sorted(their_segments)}"
    for base in sorted(our_segments.keys() & their_segments.keys()):
        yield from _between(f"segment {base}", our_segments[base], their_segments[base])
    our_files, their_files = _files_of(ours), _files_of(theirs)
    for name in sorted(our_files.keys() | their_files.keys()):
        if our_files.get(name) != their_files.get(name):
            yield f"{name}: ours {our_files.get(name)!r}, theirs {their_files.get(name)!r}"


def _between(where: str, ours: CleanedSegment, theirs: CleanedSegment) -> Iterator[str]:
    if ours.modified_ms != theirs.modified_ms:
        yield f"{where}: modified ours {ours.modified_ms}, theirs {theirs.modified_ms}"
    if ours.aborted != theirs.aborted:
        yield f"{where}: aborted ours {ours.aborted}, theirs {theirs.aborted}"
    for offset in sorted(ours.batches.keys() | theirs.batches.keys()):
        our, their = ours.batches.get(offset), theirs.batches.get(offset)
        if our != their:
            yield f"{where}, batch {offset}:\n  ours   {our}\n  theirs {their}"


def _aborted(log: Path) -> Iterator[AbortedTxn]:
    path = log.with_suffix(".txnindex")
    data = path.read_bytes() if path.exists() else b""
    return TransactionIndex(int(log.stem), InMemoryEntries(data, ABORTED_TXN_SIZE)).read()


def _files_of(directory: Path) -> dict[str, object]:
    found = files_of(directory, is_closed=True)
    return {name: data for name, data in found.items() if name.endswith(_OF_THE_LOG)}
