"""The producer snapshots in a partition directory: taken, loaded, removed.

A snapshot is named by the offset up to which it is complete. One is taken at the base of every new
segment, at the end of the log when it is closed, and while a log is recovered. A damaged one is
removed and the next older one is used: the log itself says the rest.

    truncate_and_reload     beyond the end of the log, and at or below its start, they go
    remove_stray            those of segments stay; of the others the newest, if it is behind all
                            segments: it was taken at the end of the log when that was closed
"""

from bisect import bisect_left, insort
from collections.abc import Collection

from cordwood.core.errors import DamagedFileError
from cordwood.core.ports import Files, Kind
from cordwood.core.types import Offset
from cordwood.storage.disk_errors import NO_ROOM
from cordwood.storage.names import DELETED, SNAPSHOT, parse_segment_name, segment_name
from cordwood.storage.producer_snapshot import decode_snapshot, encode_snapshot
from cordwood.storage.producer_state import ProducerState
from cordwood.storage.producers import ProducerStates


class SnapshotFiles:
    """The snapshots of one partition, by offset; `directory` may be replaced when it is renamed."""

    __slots__ = ("_last_offset", "_offsets", "directory", "files", "troubles")

    def __init__(self, files: Files, directory: str) -> None:
        self.files = files
        self.directory = directory
        self.troubles: list[DamagedFileError | OSError] = []
        self._offsets: list[int] = []
        self._last_offset = 0

    @property
    def offsets(self) -> tuple[int, ...]:
        """What there is, oldest first."""
        return tuple(self._offsets)

    def path_of(self, offset: int) -> str:
        """Return where the snapshot of an offset lies, or would lie."""
        return f"{self.directory}/{segment_name(Offset(offset), SNAPSHOT)}"

    def find(self) -> None:
        """Look for what there is; to be called first, and when files have come or gone."""
        names = (parse_segment_name(name) for name in self.files.list(self.directory, Kind.FILE))
        self._offsets = sorted(
            name.base_offset
            for name in names
            if name is not None and name.extension == SNAPSHOT and not name.suffix
        )

    def take(self, states: ProducerStates, *, sync: bool = True) -> str | None:
        """Write what is known up to `states.map_end_offset`, and return the path.

        None if there is nothing newer than the last snapshot. Without `sync` it is the caller's
        turn to sync the file and its directory; until then a crash may lose it.
        """
        offset = states.map_end_offset
        if offset <= self._last_offset:
            return None
        path = self.path_of(offset)
        self._remove(offset)
        file = self.files.create(path)
        try:
            file.append(encode_snapshot(states.producers.values()))
            if sync:
                file.sync()
        finally:
            file.close()
        if sync:
            self.files.sync_directory(self.directory)
        insort(self._offsets, offset)
        self._last_offset = offset
        return path

    def take_if_room(self, states: ProducerStates) -> None:
        """Take one, unless the disk is full: then the next start has more of the log to read."""
        try:
            self.take(states)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            self._remove(states.map_end_offset)
            self.troubles.append(error)

    def load_newest(
        self, states: ProducerStates, *, log_start_offset: int, now_ms: int
    ) -> int | None:
        """Start from the newest usable snapshot and return its offset.

        Without one there is nothing known at the start of the log. Damaged ones go; `troubles` says
        which they were.
        """
        while self._offsets:
            offset = self._offsets[-1]
            try:
                known = self._read(offset)
            except DamagedFileError as error:
                self.troubles.append(error)
                self._remove(offset)
                continue
            states.load(known, end_offset=offset, now_ms=now_ms)
            self._last_offset = offset
            return offset
        states.clear(log_start_offset)
        self._last_offset = log_start_offset
        return None

    def truncate_and_reload(
        self, states: ProducerStates, *, log_start_offset: int, log_end_offset: int, now_ms: int
    ) -> None:
        """Make the states those of a log between two offsets, as far as snapshots know.

        `states.map_end_offset` says from where the log itself has to be read.
        """
        for offset in self.offsets:
            if not log_start_offset < offset <= log_end_offset:
                self._remove(offset)
        if log_end_offset == states.map_end_offset:
            self.on_log_start(states, log_start_offset)
        else:
            self.load_newest(states, log_start_offset=log_start_offset, now_ms=now_ms)

    def truncate_fully(self, states: ProducerStates, offset: int) -> None:
        """Forget everything; the log starts anew at `offset`."""
        for each in self.offsets:
            self._remove(each)
        states.clear(offset)
        self._last_offset = 0

    def on_log_start(self, states: ProducerStates, log_start_offset: int) -> None:
        """The start of the log has moved up."""
        states.on_log_start(log_start_offset)
        self._last_offset = self._offsets[-1] if self._offsets else log_start_offset

    def remove_stray(self, segment_bases: Collection[int]) -> None:
        """Remove what belongs to no segment, but for the newest one behind all of them."""
        bases = frozenset(segment_bases)
        stray = [offset for offset in self._offsets if offset not in bases]
        if stray and stray[-1] >= max(bases, default=0):
            stray.pop()
        for offset in stray:
            self._remove(offset)

    def remove_before(self, offset: int) -> None:
        """Remove the snapshots of lower offsets."""
        for each in self._offsets[: bisect_left(self._offsets, offset)]:
            self._remove(each)

    def set_aside(self, offset: int) -> str | None:
        """Rename a deleted segment's snapshot, to be removed later, and return the new path.

        None if the segment has no snapshot, or it has gone meanwhile.
        """
        if not self._forget(offset):
            return None
        path = self.path_of(offset)
        try:
            self.files.rename(path, f"{path}{DELETED}")
        except FileNotFoundError:
            return None
        return f"{path}{DELETED}"

    def release(self, offset: int) -> str | None:
        """Know of a snapshot no more, and return its path: the file is the caller's to remove."""
        return self.path_of(offset) if self._forget(offset) else None

    def _read(self, offset: int) -> list[ProducerState]:
        file = self.files.open(self.path_of(offset))
        try:
            return decode_snapshot(file.pread(file.size, 0), path=file.path)
        finally:
            file.close()

    def _remove(self, offset: int) -> None:
        """Remove a file that may be gone already."""
        self._forget(offset)
        try:
            self.files.remove(self.path_of(offset))
        except FileNotFoundError:
            return

    def _forget(self, offset: int) -> bool:
        if offset not in self._offsets:
            return False
        self._offsets.remove(offset)
        return True
