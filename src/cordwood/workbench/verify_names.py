"""The names in a partition's directory: which belong to a log, and which are left of one.

damage     a name that ends like a segment's and does not begin with a base offset
leftover   a suffix that says so, or an index whose log is gone
strange    everything else; brokers pass over it
missing    the offset index of a segment that is not the last, unless no segment has one
"""

from collections.abc import Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from cordwood.core.types import Offset
from cordwood.storage.checkpoints import LEADER_EPOCHS
from cordwood.storage.names import (
    INDEX,
    LOG,
    SNAPSHOT,
    TIME_INDEX,
    TXN_INDEX,
    SegmentName,
    parse_segment_name,
    segment_name,
)
from cordwood.storage.partition_metadata import PARTITION_METADATA
from cordwood.workbench.findings import Finding, damage, note, some_of

_KNOWN: Final = frozenset({LEADER_EPOCHS, PARTITION_METADATA})
_ENDINGS: Final = (LOG, INDEX, TIME_INDEX, TXN_INDEX, SNAPSHOT)


def check_names(path: str, names: Collection[str], *, bases: AbstractSet[int]) -> Iterator[Finding]:
    """Yield what is to be said of the names in a directory with segments of these bases."""
    leftovers, strange = [], []
    for name in names:
        parsed = parse_segment_name(name)
        if parsed is not None:
            if parsed.suffix or (parsed.extension != SNAPSHOT and _is_orphan(parsed, bases)):
                leftovers.append(name)
        elif name.endswith(_ENDINGS):
            yield damage(
                f"{path}/{name}",
                "a name that no file of a segment has",
                remedy="give it its name back, or move it away: a broker refuses the log",
                expected="the base offset in 20 digits",
                found=name.rpartition(".")[0],
            )
        elif name.removesuffix(".tmp") not in _KNOWN:
            strange.append(name)
    if leftovers:
        words = f"left over, or about to be removed: {some_of(leftovers)}"
        yield note(path, words, remedy="nothing to do: the owner removes them")
    unindexed = _unindexed(names, bases)
    if unindexed:
        words = f"segments without an offset index: {some_of(unindexed)}"
        yield note(path, words, remedy="nothing to do: it is built when the log is next opened")
    if strange:
        words = f"no files of a log: {some_of(strange)}"
        yield note(path, words, remedy="nothing to do: brokers pass over them")


def orphans_among(names: Iterable[str], bases: AbstractSet[int]) -> set[int]:
    """Return the bases of segments of which the log is gone and other files are not."""
    parsed = (name for name in map(parse_segment_name, names) if name is not None)
    return {each.base_offset for each in parsed if not each.suffix and _is_orphan(each, bases)}


def _is_orphan(name: SegmentName, bases: AbstractSet[int]) -> bool:
    return name.extension != LOG and name.base_offset not in bases


def _unindexed(names: Collection[str], bases: AbstractSet[int]) -> list[str]:
    """Return the segments whose offset index is missing; logs may have been copied alone."""
    listed = frozenset(names)
    indexed = {base for base in bases if segment_name(Offset(base), INDEX) in listed}
    return [str(base) for base in sorted(bases)[:-1] if indexed and base not in indexed]
