"""Producer snapshot files of one partition directory (Kafka: `SnapshotFile`).

The name of a snapshot is the offset up to which it is complete. A log writes one at the base of
every new segment, at its end when it is closed, and during recovery. A damaged snapshot is removed
and the next older one is used; the log after it supplies the rest.

At a roll, a snapshot of many producers stays in memory until `snapshot_save` has written it. It is
in the list like the others, and is loaded from memory.
"""

from bisect import insort
from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import count
from typing import Final

from cordwood.core.errors import DamagedFileError
from cordwood.core.ports import FileKind, Files
from cordwood.core.types import Offset
from cordwood.storage.files.disk_errors import NO_SPACE
from cordwood.storage.files.file_names import DELETED, SNAPSHOT, parse_segment_name, segment_name
from cordwood.storage.producers.producer_snapshot import decode_snapshot, encode_snapshot
from cordwood.storage.producers.producer_state_entry import ProducerStateEntry
from cordwood.storage.producers.producer_state_manager import ProducerStateManager
from cordwood.storage.producers.snapshot_save import (
    Entries,
    SnapshotSave,
    SnapshotTake,
    UnsavedSnapshot,
)

#: The largest number of producers whose snapshot is written in less than 1 ms.
SMALL: Final = 1000
_TEMPORARY: Final = ".tmp"
#: Numbers the temporary files of this process: a deleted log may have had the same directory.
_SAVES: Final = count(1)


class SnapshotFiles:  # tidy: allow[class-lines] one list of snapshots and its changes
    """The snapshots of one partition, by offset.

    The owner replaces `directory` when it renames the directory. `errors` collects the errors that
    did not stop the log. `has_new_names` is set by a save; the next flush syncs the directory.
    """

    __slots__ = (
        "_last_offset",
        "_offsets",
        "_unsaved",
        "directory",
        "errors",
        "files",
        "has_new_names",
    )

    def __init__(self, files: Files, directory: str) -> None:
        self.files = files
        self.directory = directory
        self.errors: list[DamagedFileError | OSError] = []
        self._offsets: list[int] = []
        self._last_offset = 0
        self._unsaved: dict[int, Entries] = {}
        self.has_new_names = False

    @property
    def has_unsaved(self) -> bool:
        """Whether a snapshot is in memory only."""
        return bool(self._unsaved)

    @property
    def offsets(self) -> tuple[int, ...]:
        """The offsets of the snapshots, oldest first."""
        return tuple(self._offsets)

    def path_of(self, offset: int) -> str:
        """Return the path of the snapshot of an offset, whether or not it exists."""
        return f"{self.directory}/{segment_name(Offset(offset), SNAPSHOT)}"

    def scan(self) -> None:
        """List the snapshots in the directory, and remove what a crash left of unsaved ones.

        To be called first and after outside changes.
        """
        found = self.files.list(self.directory, FileKind.FILE)
        for name in found:
            if name.endswith(_TEMPORARY) and SNAPSHOT in name:
                self.files.remove(f"{self.directory}/{name}")
        names = map(parse_segment_name, found)
        self._offsets = sorted(
            name.base_offset
            for name in names
            if name is not None and name.extension == SNAPSHOT and not name.suffix
        )

    def take(self, states: ProducerStateManager, *, sync: bool = True) -> str | None:
        """Write a snapshot at `states.map_end_offset` and return its path.

        None if the last snapshot is as new. Without `sync` the caller must fsync the file and its
        directory; until then a crash may lose the snapshot.
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

    def take_at_roll(self, states: ProducerStateManager) -> None:
        """Take a snapshot like `take` without a sync; of many producers, only in memory."""
        take = self.begin_take(states)
        if take is not None:
            take.run(self.files)
            self.finish_take(take, states)

    def begin_take(self, states: ProducerStateManager) -> SnapshotTake | None:
        """Return the work of `take_at_roll`, for any thread; None if the last one is as new."""
        offset = states.map_end_offset
        if offset <= self._last_offset:
            return None
        is_small = len(states.producers) <= SMALL
        entries = tuple(states.producers.values()) if is_small else None
        return SnapshotTake(offset, self.path_of(offset), entries)

    def finish_take(self, take: SnapshotTake, states: ProducerStateManager) -> None:
        """Add the snapshot of a roll; `states` are still those of its beginning."""
        self._forget(take.offset)
        if take.entries is None:
            self._unsaved[take.offset] = tuple(states.producers.values())
        insort(self._offsets, take.offset)
        self._last_offset = take.offset

    def begin_save(self) -> SnapshotSave | None:
        """Return the snapshots that are in memory only, None if there are none."""
        if not self._unsaved:
            return None
        found = []
        for offset, entries in self._unsaved.items():
            temporary = f"{segment_name(Offset(offset), SNAPSHOT)}.{next(_SAVES)}{_TEMPORARY}"
            found.append(UnsavedSnapshot(offset, entries, temporary))
        return SnapshotSave(self.directory, tuple(found))

    def finish_save(self, save: SnapshotSave) -> None:
        """Give the written files their names, except those of snapshots that were dropped.

        After a move to another directory the snapshots stay in memory, for the next save.
        """
        is_moved = save.directory != self.directory
        for offset, entries, temporary in save.snapshots:
            if is_moved or self._unsaved.get(offset) is not entries:
                self._discard_temporary(save, temporary)
                continue
            self.files.rename(f"{self.directory}/{temporary}", self.path_of(offset))
            del self._unsaved[offset]
            self.has_new_names = True

    def abort_save(self, save: SnapshotSave) -> None:
        """Remove the files of a failed save; its snapshots stay in memory."""
        for each in save.snapshots:
            self._discard_temporary(save, each.temporary)

    def drop_save(self, save: SnapshotSave, error: OSError) -> None:
        """Drop the snapshots of a save without space; the next start reads more of the log."""
        self.abort_save(save)
        for each in save.snapshots:
            if self._unsaved.get(each.offset) is each.entries:
                self._forget(each.offset)
        self.errors.append(error)

    def save(self) -> None:
        """Write the snapshots that are in memory only before returning."""
        save = self.begin_save()
        if save is not None:
            save.run(self.files)
            self.finish_save(save)

    def take_if_space(self, states: ProducerStateManager, *, sync: bool = True) -> None:
        """Take a snapshot unless the disk is full: then the next start reads more of the log.

        Without `sync` it is taken as at a roll.
        """
        try:
            if sync:
                self.take(states)
            else:
                self.take_at_roll(states)
        except OSError as error:
            if error.errno not in NO_SPACE:
                raise
            self._remove(states.map_end_offset)
            self.errors.append(error)

    def load_newest(
        self, states: ProducerStateManager, *, log_start_offset: int, now_ms: int
    ) -> int | None:
        """Load the newest snapshot that can be read and return its offset.

        Without one, return None and clear the state at the log start. Damaged snapshots are removed
        and added to `errors`.
        """
        while self._offsets:
            offset = self._offsets[-1]
            try:
                entries = self._read(offset)
            except DamagedFileError as error:
                self.errors.append(error)
                self._remove(offset)
                continue
            states.load(entries, end_offset=offset, now_ms=now_ms)
            self._last_offset = offset
            return offset
        states.clear(log_start_offset)
        self._last_offset = log_start_offset
        return None

    def drop_outside(self, log_start_offset: int, log_end_offset: int) -> list[str]:
        """Drop the snapshots outside the log from the list; the caller removes these files."""
        outside = [each for each in self._offsets if not log_start_offset < each <= log_end_offset]
        return [self.path_of(each) for each in outside if self._forget(each)]

    def copy(self) -> "SnapshotFiles":
        """Return a copy for another thread; `take_over` gets what has become of it."""
        copied = SnapshotFiles(self.files, self.directory)
        copied._offsets = [*self._offsets]
        copied._unsaved = dict(self._unsaved)
        copied._last_offset = self._last_offset
        return copied

    def take_over(self, copied: "SnapshotFiles") -> None:
        """Replace the list by that of a copy; no snapshot was taken here meanwhile."""
        self._offsets = copied._offsets  # noqa: SLF001 - of the same class
        self._unsaved = copied._unsaved  # noqa: SLF001 - as above
        self._last_offset = copied._last_offset  # noqa: SLF001 - as above
        self.errors += copied.errors

    def truncate_and_reload(
        self,
        states: ProducerStateManager,
        *,
        log_start_offset: int,
        log_end_offset: int,
        now_ms: int,
    ) -> None:
        """Reset the state to a log between two offsets, as far as snapshots reach.

        The caller then replays the log from `states.map_end_offset`. Snapshots outside the log are
        removed.
        """
        for offset in self.offsets:
            if not log_start_offset < offset <= log_end_offset:
                self._remove(offset)
        if log_end_offset == states.map_end_offset:
            self.on_log_start(states, log_start_offset)
        else:
            self.load_newest(states, log_start_offset=log_start_offset, now_ms=now_ms)

    def truncate_fully(self, states: ProducerStateManager, offset: int) -> None:
        """Remove all snapshots and clear the state; the log restarts at `offset`."""
        for path in self.begin_full_truncation(states, offset):
            self._discard(path)

    def begin_full_truncation(self, states: ProducerStateManager, offset: int) -> list[str]:
        """Drop all snapshots and clear the state; the caller removes the returned files."""
        dropped = [self.path_of(each) for each in self.offsets if self._forget(each)]
        states.clear(offset)
        self._last_offset = 0
        return dropped

    def on_log_start(self, states: ProducerStateManager, log_start_offset: int) -> None:
        """Follow the log start offset, which has increased."""
        states.on_log_start(log_start_offset)
        self._last_offset = self._offsets[-1] if self._offsets else log_start_offset

    def remove_stray(self, segment_bases: Collection[int]) -> None:
        """Remove the snapshots that are not at a segment's base offset.

        Kafka: `ProducerStateManager.removeStraySnapshots`.
        """
        bases = frozenset(segment_bases)
        stray = [offset for offset in self._offsets if offset not in bases]
        # The newest one, if it is after all segments, was written at the log end by a clean close.
        if stray and stray[-1] >= max(bases, default=0):
            stray.pop()
        for offset in stray:
            self._remove(offset)

    def mark_for_deletion(self, offset: int) -> str | None:
        """Rename the snapshot of a deleted segment to `.deleted` and return the new path.

        The caller removes the file after a delay. None if the segment has no snapshot, or the file
        does not exist any more.
        """
        if not self._forget(offset):
            return None
        path = self.path_of(offset)
        try:
            self.files.rename(path, f"{path}{DELETED}")
        except FileNotFoundError:
            return None
        return f"{path}{DELETED}"

    def detach(self, offset: int) -> str | None:
        """Drop a snapshot from the list and return its path; the caller removes the file."""
        return self.path_of(offset) if self._forget(offset) else None

    def _read(self, offset: int) -> Sequence[ProducerStateEntry]:
        if offset in self._unsaved:
            return self._unsaved[offset]
        file = self.files.open(self.path_of(offset))
        try:
            return decode_snapshot(file.pread(file.size, 0), path=file.path)
        finally:
            file.close()

    def _remove(self, offset: int) -> None:
        """Remove a snapshot, whether or not its file still exists."""
        self._forget(offset)
        self._discard(self.path_of(offset))

    def _discard_temporary(self, save: SnapshotSave, name: str) -> None:
        """Remove a temporary file, where it was written or where it was moved since."""
        for directory in {save.directory, self.directory}:
            self._discard(f"{directory}/{name}")

    def _discard(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self.files.remove(path)

    def _forget(self, offset: int) -> bool:
        if offset not in self._offsets:
            return False
        self._offsets.remove(offset)
        self._unsaved.pop(offset, None)
        return True
