"""What a cleaner has left in a directory, as values that two of them can be compared by.

Of a batch everything is told but its size, its checksum and its base timestamp: these follow from
how records are written again, which `docs/formats/compaction.md` explains. Of a segment its name,
its time, and its transaction index; of the log its epochs and what it knows of producers.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tests.interop.kafka_harness.log_twins import files_of
from tests.interop.kafka_harness.ours import read_ours
from tests.interop.kafka_harness.spec import SeenBatch

_LEFT = (".txnindex", ".snapshot", "leader-epoch-checkpoint")


class CleanedSegment(NamedTuple):
    """A segment's batches, and when its file says that it was last written to."""

    batches: tuple[SeenBatch, ...]
    modified_ms: int


def segments_of(directory: Path) -> dict[int, CleanedSegment]:
    """Return the segments, by their base offsets."""
    return {
        int(path.stem): CleanedSegment(
            tuple(replace(batch, size=0, crc=0) for batch in read_ours(path.read_bytes())),
            path.stat().st_mtime_ns // 1_000_000,
        )
        for path in sorted(directory.glob("*.log"))
    }


def side_files_of(directory: Path) -> dict[str, object]:
    """Return what is in the files beside the segments that is not for finding offsets."""
    found = files_of(directory, is_closed=True)
    return {name: data for name, data in found.items() if name.endswith(_LEFT) and data != b""}


def differences(ours: Path, theirs: Path) -> Iterator[str]:
    """Yield what is not the same in two directories, in words."""
    our_segments, their_segments = segments_of(ours), segments_of(theirs)
    if our_segments.keys() != their_segments.keys():
        yield f"segments: ours {sorted(our_segments)}, theirs {sorted(their_segments)}"
    for base in sorted(our_segments.keys() & their_segments.keys()):
        yield from _between(base, our_segments[base], their_segments[base])
    our_files, their_files = side_files_of(ours), side_files_of(theirs)
    for name in sorted(our_files.keys() | their_files.keys()):
        if our_files.get(name) != their_files.get(name):
            yield f"{name}: ours {our_files.get(name)!r}, theirs {their_files.get(name)!r}"


def _between(base: int, ours: CleanedSegment, theirs: CleanedSegment) -> Iterator[str]:
    if ours.modified_ms != theirs.modified_ms:
        yield f"segment {base}: modified ours {ours.modified_ms}, theirs {theirs.modified_ms}"
    our_batches = {each.base_offset: each for each in ours.batches}
    their_batches = {each.base_offset: each for each in theirs.batches}
    for offset in sorted(our_batches.keys() | their_batches.keys()):
        our, their = our_batches.get(offset), their_batches.get(offset)
        if our != their:
            yield f"segment {base}, batch {offset}:\n  ours   {our}\n  theirs {their}"
