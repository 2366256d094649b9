"""Checks of the file names in a partition's directory.

    damage     the extension of a segment file, but no base offset in front of it; `.swap` indexes
               without their log
    leftover   a suffix of a deleted or temporary file, or an index without a log
    orphan     an index without a log that no deletion or replacement explains
    pending    a `.swap` file: a broker puts it in place of segments at startup
    unknown    all other names; brokers ignore such files
    missing    the offset index of a segment before the last, unless no segment has one

Only damage needs action; the others are notes.
"""

from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from cordwood.core.binary import INT64_MAX
from cordwood.core.counts import first_names
from cordwood.core.types import Offset
from cordwood.storage.checkpoints.checkpoint_files import LEADER_EPOCHS
from cordwood.storage.checkpoints.partition_metadata_file import PARTITION_METADATA
from cordwood.storage.files.file_names import (
    CLEANED,
    DELETED,
    INDEX,
    LOG,
    SNAPSHOT,
    SWAP,
    TIME_INDEX,
    TXN_INDEX,
    SegmentName,
    parse_segment_name,
    segment_name,
)
from cordwood.workbench.verify.findings import LOST, VerifyFinding, damage, note

_KNOWN: Final = frozenset({LEADER_EPOCHS, PARTITION_METADATA})
_ENDINGS: Final = (LOG, INDEX, TIME_INDEX, TXN_INDEX, SNAPSHOT)
_INDEXES: Final = frozenset({INDEX, TIME_INDEX, TXN_INDEX})


def check_names(
    path: str, names: Collection[str], *, bases: AbstractSet[int]
) -> Iterator[VerifyFinding]:
    """Yield findings for the names in a directory; `bases` are the base offsets of segments."""
    leftovers: list[str] = []
    orphans: list[str] = []
    unknown, pending = [], []
    lost = find_orphans(names)
    for name in names:
        parsed = parse_segment_name(name)
        if parsed is not None:
            if parsed.suffix == SWAP:
                pending.append(name)
            elif parsed.suffix or (parsed.extension != SNAPSHOT and _is_orphan(parsed, bases)):
                is_lost = not parsed.suffix and parsed.base_offset in lost
                (orphans if is_lost else leftovers).append(name)
        elif name.endswith(_ENDINGS):
            yield damage(
                f"{path}/{name}",
                "the file name is not valid for a segment",
                remedy="rename it to its original name, or move it away: brokers reject the log",
                expected="the base offset in 20 digits",
                found=name.rpartition(".")[0],
            )
        elif name.removesuffix(".tmp") not in _KNOWN:
            unknown.append(name)
    groups = (
        (leftovers, "leftover files, or files that are about to be deleted", "deletes them"),
        (pending, "files of an unfinished compaction or split", "finishes or undoes it at startup"),
        (unknown, "files that do not belong to a log", "ignores them"),
    )
    for found, cause, then in groups:
        if found:
            remedy = f"nothing to do: the broker {then}"
            yield note(path, f"{cause}: {first_names(found)}", remedy=remedy)
    yield from _orphans(path, orphans)
    yield from _lost_swaps(path, names)
    unindexed = _find_unindexed(names, bases)
    if unindexed:
        cause = f"segments without an offset index: {first_names(unindexed)}"
        yield note(path, cause, remedy="nothing to do: it is rebuilt when the log is next opened")


def _orphans(path: str, names: Sequence[str]) -> Iterator[VerifyFinding]:
    if names:
        yield note(
            path,
            f"indexes of segments whose log is missing: {first_names(names)}",
            remedy="keep a copy, which shows the offsets that the log had; a broker deletes them "
            "when it starts",
        )


def _lost_swaps(path: str, names: Collection[str]) -> Iterator[VerifyFinding]:
    for base in sorted(_SegmentNames(names).lost_swaps()):
        yield damage(
            f"{path}/{segment_name(Offset(base), LOG, suffix=SWAP)}",
            "the log of a segment that replaces others is missing: only its indexes are there",
            remedy=LOST,
        )


def find_orphans(names: Collection[str]) -> set[int]:
    """Return the base offsets of segments that have lost their log, as an index of them is left.

    A replacement or a deletion renames the log of a segment first. So indexes next to a `.deleted`
    log are none, nor are those that a pending `.swap` replaces. It removes snapshots last: they may
    be left of any segment.
    """
    found = _SegmentNames(names)
    replaced_from = min(found.swaps(), default=INT64_MAX)
    lost = found.bases(_INDEXES, "") - found.bases((LOG,), "", SWAP, DELETED)
    return {base for base in lost if base < replaced_from} | found.lost_swaps()


class _SegmentNames:
    """The names of a directory that are those of segment files."""

    def __init__(self, names: Collection[str]) -> None:
        self._parsed = [name for name in map(parse_segment_name, names) if name is not None]

    def bases(self, extensions: Collection[str], *suffixes: str) -> set[int]:
        """Return the base offsets of the files with these extensions and suffixes."""
        return {
            each.base_offset
            for each in self._parsed
            if each.extension in extensions and each.suffix in suffixes
        }

    def swaps(self) -> set[int]:
        """Return the base offsets of `.swap` files, without those of an incomplete set."""
        unfinished = min(self.bases(_ENDINGS, CLEANED), default=INT64_MAX)
        return {base for base in self.bases(_ENDINGS, SWAP) if base < unfinished}

    def lost_swaps(self) -> set[int]:
        """Return the base offsets of `.swap` indexes whose log is there with no name."""
        return self.swaps() - self.bases((LOG,), "", SWAP)


def _is_orphan(name: SegmentName, bases: AbstractSet[int]) -> bool:
    return name.extension != LOG and name.base_offset not in bases


def _find_unindexed(names: Collection[str], bases: AbstractSet[int]) -> list[str]:
    """Return the segments without an offset index; none if only the logs were copied."""
    listed = frozenset(names)
    indexed = {base for base in bases if segment_name(Offset(base), INDEX) in listed}
    return [str(base) for base in sorted(bases)[:-1] if indexed and base not in indexed]
