"""Source offsets of the records that a replay sends, kept in a file for each partition.

    <state>.<partition>.sent    {"before": 2000, "spans": [[7000, 8000], [8005, 8010]]}

The records with these offsets follow the first `before` records of the replay. The file is written
before they are sent, and after brokers have acknowledged all but the last window of earlier ones.
So the file has the offset of the target's last record. A replay resumes by this offset, not by a
count of records, which compaction of the source would change.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from cordwood.core.errors import LogDirectoryError
from cordwood.core.ports import Files
from cordwood.storage.files.atomic_write import exists, read_whole, write_atomically


class SentOffsets(NamedTuple):
    """Offsets of the source in spans; `before` records were sent before them."""

    before: int
    spans: tuple[tuple[int, int], ...]

    @property
    def end(self) -> int:
        """The number of records up to the last one of these."""
        return self.before + sum(end - start for start, end in self.spans)

    def offset_of(self, number: int) -> int:
        """Return the offset of a record by its number in the replay, from 0."""
        left = number - self.before
        for start, end in self.spans:
            if left < end - start:
                return start + left
            left -= end - start
        raise IndexError(number)

    def number_of(self, offset: int) -> int | None:
        """Return the number of a record in the replay; None if its offset is not among these."""
        number = self.before
        for start, end in self.spans:
            if start <= offset < end:
                return number + offset - start
            number += end - start
        return None


NOTHING_SENT = SentOffsets(0, ())


class SentOffsetsFile:
    """The file of one partition; its last two windows of offsets are kept."""

    __slots__ = ("_files", "_last", "path")

    def __init__(self, files: Files, path: str) -> None:
        self.path = path
        self._files = files
        self._last = NOTHING_SENT

    def read(self) -> SentOffsets | None:
        """Return the offsets in the file; None if it does not exist."""
        if not exists(self._files, self.path):
            return None
        try:
            found = json.loads(read_whole(self._files, self.path))
            spans = tuple((int(start), int(end)) for start, end in found["spans"])
            return SentOffsets(int(found["before"]), spans)
        except (ValueError, KeyError, TypeError) as error:
            raise LogDirectoryError(
                "not the progress of a replay, or damaged",
                path=self.path,
                remedy="replay into another topic, with another state file",
            ) from error

    def begin(self, done: int, last: int | None) -> None:
        """Continue after `done` records, the last of which has this offset."""
        spans = () if last is None else ((last, last + 1),)
        self._last = SentOffsets(done - len(spans), spans)

    def write(self, spans: Sequence[tuple[int, int]]) -> None:
        """Add the offsets of the next window; all earlier records have been acknowledged."""
        window = SentOffsets(self._last.end, tuple(spans))
        both = {"before": self._last.before, "spans": [*self._last.spans, *spans]}
        write_atomically(self._files, self.path, data=json.dumps(both).encode())
        self._last = window
