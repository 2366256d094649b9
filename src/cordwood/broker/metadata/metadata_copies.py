"""Choice between the copies of a standalone broker's metadata at startup.

    one copy is newer               it wins; the others are replaced
    a copy is damaged or missing    a whole one wins, with an event for the operator
    all copies are damaged          the start fails
    each of two excludes the other  the start fails: the broker has run on each directory without
                                    the other one, and either copy has changes that the other lacks

A copy names the directories that had copies when its last change was made. So a copy that was left
behind differs from one with a history of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple

from cordwood.core.errors import DamagedFileError, LogDirectoryError
from cordwood.core.ports import Files
from cordwood.storage.checkpoints.metadata_file_format import (
    METADATA_FILE,
    MetadataFileContent,
    decode_metadata,
)
from cordwood.storage.files.atomic_write import exists, read_whole

_REMEDY: Final = "keep the file that lists the topics of these directories, move the other one away"


class CopyPlace(NamedTuple):
    """A log directory with a copy, or for one; `name` is its id, which a new mount keeps."""

    files: Files
    directory: str
    name: str

    @property
    def path(self) -> str:
        return f"{self.directory}/{METADATA_FILE}"


class _Copy(NamedTuple):
    place: CopyPlace
    content: MetadataFileContent


class NewestMetadata(NamedTuple):
    """The newest copy, and the end of the last change in each copy that has the same changes."""

    content: MetadataFileContent
    ends: Mapping[CopyPlace, int]


def find_newest(
    places: Sequence[CopyPlace], *, on_event: Callable[[str], object]
) -> NewestMetadata | None:
    """Return the newest copy; None if there is no copy.

    LogDirectoryError if the copies contradict each other, DamagedFileError if all are damaged.
    """
    copies, damaged = _read_all(places)
    _ensure_one_history(copies)
    newest = max(copies, key=lambda copy: copy.content.change, default=None)
    if newest is None:
        if damaged:
            raise damaged[0]
        return None
    for error in damaged:
        on_event(f"{error}; the copy of {newest.place.directory} replaces it")
    _report_missing(newest, places, on_event)
    wanted = newest.content
    return NewestMetadata(
        wanted,
        {
            place: found.end
            for place, found in copies
            if (found.version, found.change) == (wanted.version, wanted.change)
        },
    )


def _read_all(places: Sequence[CopyPlace]) -> tuple[list[_Copy], list[DamagedFileError]]:
    copies: list[_Copy] = []
    damaged: list[DamagedFileError] = []
    for place in places:
        try:
            data = read_whole(place.files, place.path)
            copies.append(_Copy(place, decode_metadata(data, path=place.path)))
        except FileNotFoundError:
            continue
        except DamagedFileError as error:
            damaged.append(error)
    return copies, damaged


def _ensure_one_history(copies: Sequence[_Copy]) -> None:
    for one, other in combinations(copies, 2):
        is_behind = other.place.name in one.content.copies or one.place.name in other.content.copies
        if not is_behind:
            raise LogDirectoryError(
                f"has a {METADATA_FILE} with a history of its own, and so has "
                f"{one.place.directory}: the broker has run on each without the other",
                path=other.place.directory,
                remedy=_REMEDY,
            )


def _report_missing(
    newest: _Copy, places: Sequence[CopyPlace], on_event: Callable[[str], object]
) -> None:
    """Report the directories that had a copy and have none now."""
    for place in places:
        is_member = place.name in newest.content.copies
        if is_member and not exists(place.files, place.path):
            on_event(f"{place.path} is missing; the copy of {newest.place.directory} replaces it")
