"""One copy of a standalone broker's metadata: the file `cordwood.metadata` of a log directory.

A change is one line, appended and fsynced. The format is in
`storage.checkpoints.metadata_file_format`. Only the user of the broker can read the file, since
configurations have passwords and private keys.
"""

from cordwood.broker.metadata.metadata_copies import CopyPlace
from cordwood.core.ports import OpenFile
from cordwood.storage.files.atomic_write import directory_of, write_synced


class MetadataCopy:
    """A copy that is open for changes; every method may raise OSError."""

    def __init__(self, place: CopyPlace) -> None:
        self.place = place
        self._file: OpenFile | None = None

    def truncate_to(self, end: int) -> None:
        """Truncate the rest of an incomplete change, and fsync the changes before it.

        The file of an earlier release becomes private.
        """
        self.place.files.make_private(self.place.path)
        file = self._open()
        if file.size > end:
            file.truncate(end)
        # The changes read are in use from now on, so they must survive the next crash.
        file.sync()

    def append(self, line: bytes) -> None:
        """Append the line of a change, which `sync` makes durable."""
        self._open().append(line)

    def sync(self) -> None:
        """Make the appended lines durable."""
        self._open().sync()

    def prepare(self, data: bytes) -> None:
        """Write the file that `replace` puts in place of this one."""
        write_synced(self.place.files, self._temporary, data=data, is_private=True)

    def replace(self) -> None:
        """Replace the file by the prepared one, atomically and durably."""
        self.close()
        self.place.files.rename(self._temporary, self.place.path)
        self.place.files.sync_directory(directory_of(self.place.path))

    def close(self) -> None:
        """Close the file; the next change opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def _temporary(self) -> str:
        return f"{self.place.path}.tmp"

    def _open(self) -> OpenFile:
        if self._file is None:
            self._file = self.place.files.open(self.place.path, writable=True)
        return self._file
