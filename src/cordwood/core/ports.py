"""Ports: protocols with contracts for everything that is not a pure function.

    Clock           wall clock and monotonic time
    Scheduler       timers
    Files           file system; OpenFile, Slice and FileLock come from it
    SegmentSource   files of one partition for reading, from a directory or an equivalent
    Worker          threads for blocking calls
    Random          random source
    MetadataStore   cluster metadata as a small tree of versioned values

Each port has an implementation on the operating system in `core.system` and one in memory in
`testing`. Both pass the same conformance suite. A source of segments is built on either kind of
files. No port is asynchronous: blocking calls go through `Worker`. Failures of the operating system
are `OSError` with its `errno`; the caller translates them, because it has the subject.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol, TypeVar

from cordwood.core.binary import Buffer
from cordwood.core.types import TimestampMs
from cordwood.core.znodes import ZNode, ZNodeChange

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Clock(Protocol):
    """Wall clock and monotonic time. Thread-safe; never blocks."""

    def now_ms(self) -> TimestampMs:
        """Return the wall clock in milliseconds since 1970. It may jump, also backwards."""

    def monotonic_ms(self) -> float:
        """Return milliseconds since an arbitrary start, for durations. It never decreases."""


class Timer(Protocol):
    """A pending call of a scheduler."""

    def cancel(self) -> None:
        """Cancel the call. Cancelling again, or after the call, has no effect."""


class Scheduler(Protocol):
    """Timers. Calls run on the thread that owns the scheduler, never inside `call_at` or `every`.

    Calls do not overlap; calls due at the same time run in the order of their requests. A call must
    not block. The scheduler's owner reports an error in a call; other calls still run.
    """

    def call_at(self, when_ms: float, call: Callable[[], object]) -> Timer:
        """Call once when `Clock.monotonic_ms` reaches `when_ms`; now if it already has."""

    def every(self, interval_ms: float, call: Callable[[], object]) -> Timer:
        """Call one interval from now and then at every interval, until cancelled.

        `interval_ms` is above 0, else ValueError. The times are multiples of the interval from the
        start. Missed times are skipped.
        """


class FileKind(Enum):
    """Type of a directory entry; pipes and sockets have neither."""

    FILE = "file"
    DIRECTORY = "directory"


class FileStat(NamedTuple):
    """Metadata of a path."""

    size: int
    modified_ms: TimestampMs
    kind: FileKind | None

    @property
    def is_directory(self) -> bool:
        return self.kind is FileKind.DIRECTORY


class Volume(NamedTuple):
    """Size of a file system, and the bytes that this process may still use."""

    total_bytes: int
    usable_bytes: int


class Slice(Protocol):
    """A range of a file to be sent: a range of a descriptor if there is one, else a buffer.

    The slice keeps the file open, so `OpenFile.close` may come before the bytes are sent. Its
    holder calls `release` once. The bytes may be those at the time of reading: a range that is
    being sent must not be truncated or overwritten.
    """

    @property
    def descriptor(self) -> int | None:
        """Descriptor for sendfile, valid until `release`; None if the bytes are in memory."""

    @property
    def position(self) -> int:
        """Start of the range in the file."""

    @property
    def length(self) -> int:
        """Length of the range in bytes."""

    def read(self, start: int = 0, length: int | None = None) -> memoryview:
        """Return bytes from `start` within the range, by default to its end.

        Fewer only if the file was truncated since. It may run on any thread, also during `release`.
        """

    def read_cached(self, start: int, length: int) -> memoryview:
        """Return the bytes from `start` that need no disk access: at most `length`, possibly none.

        On the thread that calls `release`.
        """

    def fail(self, error: OSError) -> Exception:
        """Report an error of the file in `read` or in sendfile; return the error to be raised."""

    def release(self) -> None:
        """Release the file. Releasing again has no effect."""


class OpenFile(Protocol):
    """A file, open until `close`. Reads may overlap with anything; there is one writer.

    After an error of `sync` the state of the earlier writes is unknown: open the file again and
    check.
    """

    @property
    def path(self) -> str:
        """Path that the file was opened by; a later rename does not change it."""

    @property
    def size(self) -> int:
        """Present size in bytes, including preallocated ones."""

    def pread(self, length: int, position: int) -> bytes:
        """Return `length` bytes from `position`; fewer only at the end of the file."""

    def pread_into(self, buffer: bytearray | memoryview, position: int) -> int:
        """Fill `buffer` from `position` and return the byte count; fewer only at the end."""

    def append(self, data: Buffer) -> int:
        """Write all of `data` at the end and return its position.

        All or nothing: if it raises (for example without free space), the file was truncated to its
        former size. Only a crash can leave a part.
        """

    def pwrite(self, data: Buffer, position: int) -> None:
        """Write all of `data` at `position`, which may be past the end: the gap reads as zeros.

        If it raises, any part of the range may have been written.
        """

    def preallocate(self, size: int) -> None:
        """Grow to `size` bytes that read as zeros, sparse if the file system supports that."""

    def truncate(self, size: int) -> None:
        """Truncate to `size`, which is at most the present size."""

    def sync(self) -> None:
        """Fsync: return when every write and truncation that returned before survives a crash.

        The file's name is not covered: see `Files.sync_directory`.
        """

    def slice(self, position: int, length: int) -> Slice:
        """Return a range within the file, without reading it."""

    def map(self) -> memoryview:
        """Map the whole file read-only, without reading it.

        Only for files that are not truncated while the view exists: reading past the end of a
        truncated mapping kills the process. The view stays valid after `close`.
        """

    def close(self) -> None:
        """Close the descriptor once the last slice is released. Closing again has no effect."""


class FileLock(Protocol):
    """Exclusive lock on a path, against other processes and within this one."""

    def release(self) -> None:
        """Release the lock; the file stays. The end of the process has the same effect."""


class Files(Protocol):
    """A file system. Paths are absolute, with `/`. A failed call changes nothing.

    A crash keeps contents up to `OpenFile.sync`, and names up to `sync_directory` of their
    directory. Of later changes it keeps any part, in any order.
    """

    def create(self, path: str, *, is_private: bool = False) -> OpenFile:
        """Create an empty file, open for writing; FileExistsError if the path exists.

        Other users cannot read a private file.
        """

    def open(self, path: str, *, writable: bool = False) -> OpenFile:
        """Open an existing file; FileNotFoundError if it does not exist.

        A directory or a pipe has no byte positions: it is rejected, without waiting for a writer.
        """

    def rename(self, source: str, target: str) -> None:
        """Rename a file or directory; a file atomically replaces an existing one."""

    def remove(self, path: str) -> None:
        """Remove a file. Existing open files can still read it."""

    def make_directory(self, path: str) -> None:
        """Create a directory in an existing one; FileExistsError if the path exists."""

    def remove_directory(self, path: str) -> None:
        """Remove an empty directory."""

    def sync_directory(self, path: str) -> None:
        """Return when every name created or removed in the directory before survives a crash."""

    def list(self, path: str, kind: FileKind | None = None) -> list[str]:
        """Return the names in a directory, sorted, of one kind if given.

        A link has the kind of its target; a dangling link has none.
        """

    def stat(self, path: str) -> FileStat:
        """Return size, time and kind; FileNotFoundError if the path does not exist."""

    def volume(self, path: str) -> Volume:
        """Return the volume of a path; FileNotFoundError if the path does not exist."""

    def set_modified(self, path: str, modified_ms: TimestampMs) -> None:
        """Set the modification time of a file."""

    def make_private(self, path: str) -> None:
        """Take the right to open a file from other users."""

    def lock(self, path: str) -> FileLock:
        """Take the lock, creating the file if needed; BlockingIOError if it is held."""


class SegmentSource(Protocol):
    """Files of one partition for reading, while another process may change them.

    Names are plain names, without a path. Between two calls a file may grow, be truncated,
    overwritten, renamed, replaced or removed: a result of one call need not hold at the next one.
    `stat` looks the name up again. Reads of a name between two `stat` calls come from one file,
    even if it was renamed or removed. The exception is a source that had to close the file: then
    reads come from the file that has the name now. A source never writes and never locks. It is
    used by one thread.
    """

    @property
    def path(self) -> str:
        """Path of the source in errors; a file's path is this, a slash and its name."""

    def list(self) -> list[str]:
        """Return the names of the present files, sorted; other entries are skipped.

        FileNotFoundError if the source no longer exists.
        """

    def changed_ms(self) -> int | None:
        """Return the time at which a file was last created, renamed or removed.

        None if it is not known. FileNotFoundError if the source no longer exists.
        """

    def stat(self, name: str) -> FileStat:
        """Look up a name and return size, time and kind; FileNotFoundError if it does not exist."""

    def read(  # tidy: allow[positional] as OpenFile.pread, with a name
        self, name: str, length: int, position: int
    ) -> bytes:
        """Return `length` bytes from `position`; fewer only at the file's present end.

        FileNotFoundError if the file does not exist and none was kept since the last `stat`.
        """

    def read_into(self, name: str, buffer: bytearray | memoryview, position: int) -> int:
        """Fill `buffer` as `read` would, and return the byte count."""

    def close(self) -> None:
        """Close the files that are kept open. Later reads open them again."""


class Pending(Protocol[T_co]):
    """Result of a call that may still run; `concurrent.futures.Future` implements it."""

    def done(self) -> bool:
        """Return whether there is a result or an error."""

    def result(self) -> T_co:
        """Wait for the result, or raise the error. A loop calls this only when `done`."""

    def exception(self) -> BaseException | None:
        """Wait, and return the error instead of raising it."""

    def add_done_callback(self, call: Callable[["Pending[T_co]"], object], /) -> None:
        """Call with this object when it is done: on the worker's thread, or now if it is done.

        A loop therefore passes a function that uses its own `call_soon_threadsafe`.
        """


class Lane(Enum):
    """Threads of a worker for one kind of call; a call waits for calls of its own lane only."""

    #: Fsyncs that an acknowledgement waits for.
    FLUSH = "flush"
    #: Reads of cold data, which a response waits for.
    READ = "read"
    #: Files created, grown, renamed or truncated, which appends wait for.
    FILES = "files"
    #: Changes of the metadata.
    METADATA = "metadata"
    #: Work of the processor above about 1 ms: decoding, checks, compression.
    COMPUTE = "compute"
    #: All other calls: deleted and cleaned segments, checkpoints, startup, shutdown.
    BACKGROUND = "background"


class Worker(Protocol):
    """Threads for blocking calls. Calls may overlap, run on any thread and end in any order.

    Each lane has threads of its own: calls of one lane never delay calls of another one.
    """

    def submit(self, call: Callable[[], T], *, lane: Lane) -> Pending[T]:
        """Start the call soon, in a lane; `Pending.result` raises its error."""

    def sync(self, file: OpenFile) -> Pending[None]:
        """Call `file.sync()`, shared with other waiting calls for the same file (group commit).

        It runs in the lane FLUSH. When it is done, every write that returned before this call is
        durable.
        """

    def close(self) -> None:
        """Wait for all submitted calls. No call may be submitted afterwards."""


class Random(Protocol):
    """Random source. The seeded one is repeatable, the system's cannot be predicted."""

    def below(self, limit: int) -> int:
        """Return a uniform whole number from 0 to `limit - 1`; `limit` is above 0."""

    def fraction(self) -> float:
        """Return a number from 0 up to, not including, 1."""

    def token(self, size: int) -> bytes:
        """Return `size` random bytes."""


class MetadataStore(Protocol):
    """Tree of versioned values, as in ZooKeeper; `core.znodes` defines the effect of changes.

    Calls block, so that a loop uses them through `Worker`. They may come from any thread and
    overlap: a reader sees a change completely or not at all, and only once it is durable.
    """

    def get(self, path: str) -> ZNode | None:
        """Return a node's data and version, None if it does not exist."""

    def children(self, path: str) -> list[str]:
        """Return the names of a node's children, sorted; none if the node does not exist."""

    def multi(self, changes: Sequence[ZNodeChange]) -> None:
        """Apply all changes in order, or none; on return they are durable.

        MetadataConflictError, without any change, if one of them is not possible. KafkaStorageError
        if they cannot be stored. They may then exist or not when the store is opened again, and
        until then the store may reject all other changes.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Ports of a component on one thread: files, clock and random source."""

    files: Files
    clock: Clock
    random: Random


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPorts(Ports):
    """Ports of a component on an event loop: also timers, and a worker for blocking calls."""

    scheduler: Scheduler
    worker: Worker
