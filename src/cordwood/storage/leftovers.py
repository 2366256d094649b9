"""What a process that died in the middle has left in a partition's directory, put in order.

    .deleted   was to be removed: is removed
    .cleaned   a cleaner or a split was writing it: worthless, removed; and with it every .swap at
               or above the lowest one, whose work was not complete either
    .swap      complete, and about to take the place of what covers the same offsets: that is
               removed, and the .swap renamed

Only files are touched whose name is one that a segment's can have; what is no file, though it has
such a name, is passed over as Kafka does. It is done in steps, each of them durable before the next
one begins, so that dying in it changes nothing of how it ends: a .swap that is to go is gone before
the .cleaned that says so, and what a .swap replaces before that is renamed.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from cordwood.core.ports import Files, Kind
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
    deleted = [each for each in found if each.suffix == names.DELETED]
    cleaned = [each for each in found if each.suffix == names.CLEANED]
    swaps = [each for each in found if each.suffix == names.SWAP]
    undone = _incomplete(cleaned, swaps)
    swaps = [each for each in swaps if each not in undone]
    replaced = _replaced(found, swaps, swap_next_offset)
    for step in (deleted + undone, cleaned + replaced):
        _remove(files, directory, step)
    _complete(files, directory, swaps)
    return Leftovers(
        tuple(sorted(map(_name, deleted + undone + cleaned + replaced))),
        tuple(sorted(map(_final_name, swaps))),
    )


def remove_orphans(files: Files, directory: str) -> tuple[str, ...]:
    """Remove indexes of segments whose log is gone; return their names."""
    found = [each for each in _parsed(files, directory) if not each.suffix]
    logs = {each.base_offset for each in found if each.extension == names.LOG}
    orphans = [
        each for each in found if each.extension in _INDEXES and each.base_offset not in logs
    ]
    _remove(files, directory, orphans)
    return tuple(map(_name, orphans))


def cleaned_names(files: Files, directory: str) -> list[SegmentName]:
    """Return what lies there as .cleaned."""
    return [each for each in _parsed(files, directory) if each.suffix == names.CLEANED]


def remove_cleaned(files: Files, directory: str) -> None:
    """Remove what a cleaner has written that comes to nothing; nobody is swapping meanwhile."""
    _remove(files, directory, cleaned_names(files, directory))


def segment_bases(files: Files, directory: str) -> list[int]:
    """Return the base offsets of the segments there are."""
    return sorted(
        each.base_offset
        for each in _parsed(files, directory)
        if each.extension == names.LOG and not each.suffix
    )


def _parsed(files: Files, directory: str) -> list[SegmentName]:
    parsed = map(parse_segment_name, files.list(directory, Kind.FILE))
    return [each for each in parsed if each is not None]


def _incomplete(cleaned: list[SegmentName], swaps: list[SegmentName]) -> list[SegmentName]:
    """Return the .swap files whose work had not come to its end."""
    lowest = min((each.base_offset for each in cleaned), default=None)
    return [each for each in swaps if lowest is not None and each.base_offset >= lowest]


def _replaced(
    found: list[SegmentName], swaps: list[SegmentName], swap_next_offset: NextOffset
) -> list[SegmentName]:
    """Return the files that lie in the range of offsets that the complete ones cover."""
    logs = [each.base_offset for each in swaps if each.extension == names.LOG]
    if not logs:
        return []
    first, end = min(logs), max(max(logs) + 1, *map(swap_next_offset, logs))
    return [each for each in found if not each.suffix and first <= each.base_offset < end]


def _remove(files: Files, directory: str, doomed: Iterable[SegmentName]) -> None:
    for each in doomed:
        files.remove(f"{directory}/{_name(each)}")
    if doomed:
        files.sync_directory(directory)


def _complete(files: Files, directory: str, swaps: list[SegmentName]) -> None:
    """Take the suffix away: from the logs one after the other, lowest first, then from the rest.

    What is renamed already must not lie among the logs that still have the suffix, nor be an index
    of one, or it would count as replaced the next time.
    """
    logs = [each for each in swaps if each.extension == names.LOG]
    indexes = [each for each in swaps if each.extension != names.LOG]
    for step in (*([log] for log in sorted(logs)), indexes):
        for each in step:
            files.rename(f"{directory}/{_name(each)}", f"{directory}/{_final_name(each)}")
        if step:
            files.sync_directory(directory)


def _name(name: SegmentName) -> str:
    return segment_name(name.base_offset, name.extension, suffix=name.suffix)


def _final_name(name: SegmentName) -> str:
    return segment_name(name.base_offset, name.extension)
