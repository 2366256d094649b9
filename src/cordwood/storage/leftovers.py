"""What a process that died in the middle has left in a partition's directory, put in order.

    .deleted   was to be removed: is removed
    .cleaned   a cleaner or a split was writing it: worthless, removed; and with it every .swap at
               or above the lowest one, whose work was not complete either
    .swap      complete, and about to take the place of what covers the same offsets: that is
               removed, and the .swap renamed

Only names that a segment's file can have are touched. Running it again, after dying in it, ends the
same: what is removed first is what a .swap replaces, and the .swap stays until that is gone.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from cordwood.core.ports import Files
from cordwood.storage import names
from cordwood.storage.names import SegmentName, parse_segment_name, segment_name

_INDEXES: Final = (names.INDEX, names.TIME_INDEX, names.TXN_INDEX)

#: Where the batches of a segment with a suffix end, by its base offset: asked of its `.log.swap`.
NextOffset = Callable[[int], int]


class Leftovers(NamedTuple):
    """The names that were removed, and those that files got in place of a .swap."""

    removed: tuple[str, ...]
    completed: tuple[str, ...]


def clear_leftovers(files: Files, directory: str, *, swap_next_offset: NextOffset) -> Leftovers:
    """Finish, or undo, what was under way when the last owner died."""
    found = _parsed(files, directory)
    doomed = _worthless(found)
    swaps = [each for each in found if each.suffix == names.SWAP and each not in doomed]
    doomed += _replaced(found, swaps, swap_next_offset)
    doomed = sorted(set(doomed))
    for each in doomed:
        files.remove(f"{directory}/{_name(each)}")
    completed = []
    for each in swaps:
        final = segment_name(each.base_offset, each.extension)
        files.rename(f"{directory}/{_name(each)}", f"{directory}/{final}")
        completed.append(final)
    if doomed or completed:
        files.sync_directory(directory)
    return Leftovers(tuple(map(_name, doomed)), tuple(completed))


def remove_orphans(files: Files, directory: str) -> tuple[str, ...]:
    """Remove indexes of segments whose log is gone; return their names."""
    found = [each for each in _parsed(files, directory) if not each.suffix]
    logs = {each.base_offset for each in found if each.extension == names.LOG}
    orphans = [
        _name(each) for each in found if each.extension in _INDEXES and each.base_offset not in logs
    ]
    for name in orphans:
        files.remove(f"{directory}/{name}")
    return tuple(orphans)


def segment_bases(files: Files, directory: str) -> list[int]:
    """Return the base offsets of the segments there are."""
    return sorted(
        each.base_offset
        for each in _parsed(files, directory)
        if each.extension == names.LOG and not each.suffix
    )


def _parsed(files: Files, directory: str) -> list[SegmentName]:
    parsed = map(parse_segment_name, files.list(directory))
    return [each for each in parsed if each is not None]


def _worthless(found: list[SegmentName]) -> list[SegmentName]:
    """Return what is half deleted or half written."""
    cleaned = [each for each in found if each.suffix == names.CLEANED]
    lowest = min((each.base_offset for each in cleaned), default=None)
    incomplete = [
        each
        for each in found
        if each.suffix == names.SWAP and lowest is not None and each.base_offset >= lowest
    ]
    deleted = [each for each in found if each.suffix == names.DELETED]
    return deleted + cleaned + incomplete


def _replaced(
    found: list[SegmentName], swaps: list[SegmentName], swap_next_offset: NextOffset
) -> list[SegmentName]:
    """Return the files that lie in the range of offsets that the complete ones cover."""
    logs = [each.base_offset for each in swaps if each.extension == names.LOG]
    if not logs:
        return []
    first, end = min(logs), max(map(swap_next_offset, logs))
    return [each for each in found if not each.suffix and first <= each.base_offset < end]


def _name(name: SegmentName) -> str:
    return segment_name(name.base_offset, name.extension, suffix=name.suffix)
