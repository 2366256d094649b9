"""The ports: what Cordwood asks of the world, as protocols with their contracts.

    Clock           what time is it
    Scheduler       call me later
    Files           bytes that outlive the process; OpenFile, Slice and FileLock come from it
    SegmentSource   the files of one partition to be read, in a directory or what looks like one
    Worker          do what blocks somewhere else
    Random          chance
    MetadataStore   what a cluster knows of itself, as a small tree of versioned values

Each has an operating-system version in `core.system` and an in-memory one in `testing`, held to the
same conformance suite; a source of segments is made from either kind of files. Nothing here is
awaited: what blocks goes through `Worker`. Failures of the operating system are `OSError` with its
`errno`; the caller, who knows the subject, translates.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple, Protocol, TypeVar

from cordwood.core.binary import Buffer
from cordwood.core.nodes import Node, NodeChange
from cordwood.core.types import TimestampMs

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Clock(Protocol):
    """What time it is. Never blocks; any thread may ask."""

    def now_ms(self) -> TimestampMs:
        """Return the wall clock in milliseconds since 1970. It may jump, backwards too."""

    def monotonic_ms(self) -> float:
        """Return milliseconds since an unknown start. It never goes back; use it for durations."""


class Timer(Protocol):
    """A call that a scheduler still has to make."""

    def cancel(self) -> None:
        """Make no call after this returns. Cancelling again, or too late, does nothing."""


class Scheduler(Protocol):
    """Calls made later, on the thread that owns the scheduler, not inside `call_at` or `every`.

    Calls do not overlap; those due at the same time are made in the order they were asked for.
    A call must not block. An error in one is reported by the scheduler's owner and stops no other.
    """

    def call_at(self, when_ms: float, call: Callable[[], object]) -> Timer:
        """Make one call when `Clock.monotonic_ms` has reached `when_ms`; at once if it has."""

    def every(self, interval_ms: float, call: Callable[[], object]) -> Timer:
        """Make a call one interval from now and then every interval, until cancelled.

        `interval_ms` is above 0, else ValueError. The times are multiples of the interval from the
        start; those that were missed are skipped, not made up for.
        """


class Kind(Enum):
    """What a name in a directory stands for; pipes and sockets are of neither kind."""

    FILE = "file"
    DIRECTORY = "directory"


class FileStat(NamedTuple):
    """What is known of a path without opening it."""

    size: int
    modified_ms: TimestampMs
    kind: Kind | None

    @property
    def is_directory(self) -> bool:
        return self.kind is Kind.DIRECTORY


class Volume(NamedTuple):
    """How large a file system is, and how much of it is left for this process."""

    total_bytes: int
    usable_bytes: int


class Slice(Protocol):
    """A range of a file, to be sent: a range of a descriptor where there is one, else a buffer.

    It holds the file open, so `OpenFile.close` may come before the bytes are sent. Whoever holds
    it calls `release` once. It may show the file as it is when it is read: a range that is sent
    must not be truncated or overwritten before.
    """

    @property
    def descriptor(self) -> int | None:
        """A descriptor for sendfile, valid until `release`; None when the bytes are in memory."""

    @property
    def position(self) -> int:
        """Where the range begins in the file."""

    @property
    def length(self) -> int:
        """How many bytes it has."""

    def read(self) -> memoryview:
        """Return the bytes; fewer only if the file has been truncated since."""

    def release(self) -> None:
        """Let go of the file. Releasing again does nothing."""


class OpenFile(Protocol):
    """A file, open until `close`. Reads may overlap with anything; there is one writer.

    After an error of `sync` nothing is known of the writes before it: open anew and check.
    """

    @property
    def path(self) -> str:
        """The path it was opened by; a later rename does not change it."""

    @property
    def size(self) -> int:
        """The present size in bytes, preallocated ones included."""

    def pread(self, length: int, position: int) -> bytes:
        """Return `length` bytes from `position`; fewer only where the file ends."""

    def pread_into(self, buffer: bytearray | memoryview, position: int) -> int:
        """Fill `buffer` from `position` and return how many bytes came; fewer only at the end."""

    def append(self, data: Buffer) -> int:
        """Write all of `data` at the end and return the position where it begins.

        All or nothing: when it raises (no space, say), the file has been cut back to its former
        size. Only a crash can leave a part of it.
        """

    def pwrite(self, data: Buffer, position: int) -> None:
        """Write all of `data` at `position`, which may lie past the end: the gap reads as zeros.

        When it raises, any part of the range may have been written.
        """

    def preallocate(self, size: int) -> None:
        """Grow to `size` bytes that read as zeros, using no space where the file system can."""

    def truncate(self, size: int) -> None:
        """Cut to `size`, which is not above the present size."""

    def sync(self) -> None:
        """Return when every write and truncation that returned before this call survives a crash.

        The file's name is another matter: `Files.sync_directory`.
        """

    def slice(self, position: int, length: int) -> Slice:
        """Return a range that lies within the file, without reading it."""

    def map(self) -> memoryview:
        """Return the whole file as it is, read-only and unread.

        Only for files that nobody truncates while the view lives: reading past the end of a
        truncated mapping kills the process. The view stays valid after `close`.
        """

    def close(self) -> None:
        """Give the descriptor back once the last slice is released. Closing again does nothing."""


class FileLock(Protocol):
    """A lock on a path against other processes, and against another lock in this one."""

    def release(self) -> None:
        """Let others have it; the file stays. The end of the process does the same."""


class Files(Protocol):
    """A file system. Paths are absolute, with `/`. What fails leaves everything as it was.

    What a crash keeps: contents up to `OpenFile.sync`, names up to `sync_directory` of the
    directory that holds them; beyond that any part of what was done since, in any order.
    """

    def create(self, path: str) -> OpenFile:
        """Make an empty file, open for writing. FileExistsError if there is one."""

    def open(self, path: str, *, writable: bool = False) -> OpenFile:
        """Open a file that exists; FileNotFoundError if it does not.

        What has no bytes at positions, a directory or a pipe, is refused and not waited for.
        """

    def rename(self, source: str, target: str) -> None:
        """Give a file or directory another name; a file atomically replaces one that has it."""

    def remove(self, path: str) -> None:
        """Remove a file. Those who have it open keep reading it."""

    def make_directory(self, path: str) -> None:
        """Make a directory, whose parent exists. FileExistsError if something has the name."""

    def remove_directory(self, path: str) -> None:
        """Remove an empty directory."""

    def sync_directory(self, path: str) -> None:
        """Return when every name made or removed in the directory before survives a crash."""

    def list(self, path: str, kind: Kind | None = None) -> list[str]:
        """Return the names in a directory, sorted; of one kind if it is given.

        A link is what it leads to, be that nothing.
        """

    def stat(self, path: str) -> FileStat:
        """Return size, time and kind; FileNotFoundError if there is nothing."""

    def volume(self, path: str) -> Volume:
        """Return what a path is on; FileNotFoundError if there is nothing."""

    def set_modified(self, path: str, modified_ms: TimestampMs) -> None:
        """Set the time of a file's last change."""

    def lock(self, path: str) -> FileLock:
        """Take the lock, making the file if need be; BlockingIOError if somebody has it."""


class SegmentSource(Protocol):
    """The files of one partition, to be read while somebody else may be changing them.

    Names are plain names, without a path. Between two calls a file may grow, be truncated, be
    written anew, get another name, be replaced or go: what one call said need not hold at the next.
    `stat` looks anew; reads of a name between two looks come from one file, be it renamed or gone
    meanwhile, unless the source had to let go of it, and then from what has the name then.
    Nothing is written and nothing is locked. One thread uses a source.
    """

    @property
    def path(self) -> str:
        """What errors call the place; a file's path is this, a slash and its name."""

    def list(self) -> list[str]:
        """Return the names of files that there are now, sorted; other things are passed over.

        FileNotFoundError if the place is gone.
        """

    def stat(self, name: str) -> FileStat:
        """Return size, time and kind of what has the name now; FileNotFoundError if nothing has."""

    def read(  # tidy: allow[positional] as OpenFile.pread, of a name
        self, name: str, length: int, position: int
    ) -> bytes:
        """Return `length` bytes from `position`; fewer only where the file ends, now.

        FileNotFoundError if there is no such file and none was kept since the last `stat`.
        """

    def read_into(self, name: str, buffer: bytearray | memoryview, position: int) -> int:
        """Fill `buffer` as `read` would, and return how many bytes came."""

    def close(self) -> None:
        """Give back what is kept open. Reading goes on all the same, with what it opens anew."""


class Pending(Protocol[T_co]):
    """The result of a call that may still be under way, as `concurrent.futures.Future` has it."""

    def done(self) -> bool:
        """Say whether there is a result or an error."""

    def result(self) -> T_co:
        """Wait for the result, or raise the error. The loop asks only when `done`."""

    def exception(self) -> BaseException | None:
        """Wait, and return the error instead of raising it."""

    def add_done_callback(self, call: Callable[["Pending[T_co]"], object], /) -> None:
        """Call with this object when it is done: on the worker's thread, or at once if it is done.

        So a loop hands its own `call_soon_threadsafe` over.
        """


class Worker(Protocol):
    """A place for calls that block. Calls may overlap, run on any thread and end in any order."""

    def submit(self, call: Callable[[], T]) -> Pending[T]:
        """Begin the call soon; an error of it comes out of `Pending.result`."""

    def sync(self, file: OpenFile) -> Pending[None]:
        """Do `file.sync()`, together with others that wait for the same file (group commit).

        When it is done, every write that returned before this call is durable.
        """

    def close(self) -> None:
        """Wait for everything that was handed in. Nothing may be handed in afterwards."""


class Random(Protocol):
    """Chance. The seeded version repeats itself, the real one cannot be guessed."""

    def below(self, limit: int) -> int:
        """Return a whole number from 0 to `limit - 1`, each as likely; `limit` is above 0."""

    def fraction(self) -> float:
        """Return a number from 0 up to, not including, 1."""

    def token(self, size: int) -> bytes:
        """Return `size` bytes."""


class MetadataStore(Protocol):
    """Versioned values in a tree, as ZooKeeper has them; `core.nodes` says what changes make of it.

    Calls block, so on a loop they go through `Worker`. They may come from any thread and overlap:
    a change is seen whole or not at all, and only once it is durable.
    """

    def get(self, path: str) -> Node | None:
        """Return a node's data and version, None if there is no such node."""

    def children(self, path: str) -> list[str]:
        """Return the names below a node, sorted; none if there is no such node."""

    def multi(self, changes: Sequence[NodeChange]) -> None:
        """Make all changes, one after the other, or none; when it returns they are durable.

        MetadataConflictError, with nothing changed, if one of them cannot be made.
        KafkaStorageError if they cannot be kept: then they may or may not be there when the store
        is opened again, and until then it may refuse all others.
        """
