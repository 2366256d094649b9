"""Cleanup of a partition directory after a crash (Kafka: `LogLoader`, its first two steps).

    .deleted   was about to be removed: removed
    .cleaned   was being written by a cleaner or a split: incomplete, removed; so is every .swap at
               or above the lowest .cleaned, because its swap was not complete either
    .swap      is complete: the segments with the same offsets are removed, the .swap is renamed

Only files with the name of a segment file are touched; as in Kafka, a directory or link with such a
name is passed over.

The cleanup has steps, each durable before the next one begins, so that a crash during the cleanup
does not change its result. An incomplete .swap is removed before the .cleaned that marks it as
incomplete. Replaced segments are removed before the .swap that replaces them is renamed.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from cordwood.core.ports import FileKind, Files
from cordwood.storage.files import file_names
from cordwood.storage.files.file_names import SegmentName, parse_segment_name, segment_name

_INDEXES: Final = (file_names.INDEX, file_names.TIME_INDEX, file_names.TXN_INDEX)

#: Returns the offset after the last batch of a `.log.swap` file, by its base offset.
NextOffset = Callable[[int], int]


class CrashCleanup(NamedTuple):
    """The names of the removed files, and the final names of the renamed .swap files."""

    removed: tuple[str, ...]
    completed: tuple[str, ...]


def clean_up_crash(files: Files, directory: str, *, swap_next_offset: NextOffset) -> CrashCleanup:
    """Finish or undo the swaps and deletions that the last owner did not complete."""
    found = _parsed(files, directory)
    deleted = [each for each in found if each.suffix == file_names.DELETED]
    cleaned = [each for each in found if each.suffix == file_names.CLEANED]
    swaps = [each for each in found if each.suffix == file_names.SWAP]
    undone = _incomplete(cleaned, swaps)
    swaps = [each for each in swaps if each not in undone]
    replaced = _replaced(found, swaps, swap_next_offset)
    for step in (deleted + undone, cleaned + replaced):
        _remove(files, directory, step)
    _complete(files, directory, swaps)
    return CrashCleanup(
        tuple(sorted(map(_name, deleted + undone + cleaned + replaced))),
        tuple(sorted(map(_final_name, swaps))),
    )


def remove_orphans(files: Files, directory: str) -> tuple[str, ...]:
    """Remove index files without a log file; return their names."""
    found = [each for each in _parsed(files, directory) if not each.suffix]
    logs = {each.base_offset for each in found if each.extension == file_names.LOG}
    orphans = [
        each for each in found if each.extension in _INDEXES and each.base_offset not in logs
    ]
    _remove(files, directory, orphans)
    return tuple(map(_name, orphans))


def cleaned_names(files: Files, directory: str) -> list[SegmentName]:
    """Return the .cleaned files of a directory."""
    return [each for each in _parsed(files, directory) if each.suffix == file_names.CLEANED]


def remove_cleaned(files: Files, directory: str) -> None:
    """Remove the .cleaned files of a cancelled pass; no swap may run at the same time."""
    _remove(files, directory, cleaned_names(files, directory))


def segment_bases(files: Files, directory: str) -> list[int]:
    """Return the base offsets of the segments in a directory."""
    return sorted(
        each.base_offset
        for each in _parsed(files, directory)
        if each.extension == file_names.LOG and not each.suffix
    )


def _parsed(files: Files, directory: str) -> list[SegmentName]:
    parsed = map(parse_segment_name, files.list(directory, FileKind.FILE))
    return [each for each in parsed if each is not None]


def _incomplete(cleaned: list[SegmentName], swaps: list[SegmentName]) -> list[SegmentName]:
    """Return the .swap files of a swap that was not complete."""
    lowest = min((each.base_offset for each in cleaned), default=None)
    return [each for each in swaps if lowest is not None and each.base_offset >= lowest]


def _replaced(
    found: list[SegmentName], swaps: list[SegmentName], swap_next_offset: NextOffset
) -> list[SegmentName]:
    """Return the files in the range of offsets that the complete .swap files cover."""
    logs = [each.base_offset for each in swaps if each.extension == file_names.LOG]
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
    """Remove the suffix from the log files one after the other, lowest first, then from the rest.

    After a crash in between, a renamed file must not be in the range of the remaining .swap logs,
    nor be an index of one of them: the next cleanup would remove it as replaced.
    """
    logs = [each for each in swaps if each.extension == file_names.LOG]
    indexes = [each for each in swaps if each.extension != file_names.LOG]
    for step in (*([log] for log in sorted(logs)), indexes):
        for each in step:
            files.rename(f"{directory}/{_name(each)}", f"{directory}/{_final_name(each)}")
        if step:
            files.sync_directory(directory)


def _name(name: SegmentName) -> str:
    return segment_name(name.base_offset, name.extension, suffix=name.suffix)


def _final_name(name: SegmentName) -> str:
    return segment_name(name.base_offset, name.extension)
