"""Implementations of the ports on the operating system; with `lane_threads`, it has side effects.

Only composition roots import this module.
"""

# The ports take paths as strings, so that pure modules need no pathlib:
# ruff: noqa: PTH101, PTH102, PTH105, PTH106, PTH108, PTH112, PTH113, PTH116

import errno
import fcntl
import mmap
import os
import stat
import struct
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from cordwood.core.binary import Buffer
from cordwood.core.errors import KafkaStorageError
from cordwood.core.lane_threads import LANE_THREADS, LaneThreads
from cordwood.core.ports import FileKind, FileStat, Lane, OpenFile, Volume
from cordwood.core.types import TimestampMs

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")
P = ParamSpec("P")

_FILE_MODE = 0o644
_PRIVATE_MODE = 0o600
_KINDS = {stat.S_IFREG: FileKind.FILE, stat.S_IFDIR: FileKind.DIRECTORY}
_NS_PER_MS = 1_000_000
_FRACTION_BITS = 53
# Without this flag, on other systems than Linux, no read is known to need no disk access.
_ONLY_CACHED: int | None = getattr(os, "RWF_NOWAIT", None)
_NOT_CACHED = frozenset({errno.EAGAIN, errno.EOPNOTSUPP})
_LOCK_OF_OPEN_FILE: int | None = getattr(fcntl, "F_OFD_SETLK", None)
# Linux's struct flock: type, whence, start, length (0: whole file), process id (must be 0).
_WHOLE_FILE = struct.pack("@hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


class SystemClock:
    """Clocks of the operating system."""

    def now_ms(self) -> TimestampMs:
        return TimestampMs(time.time_ns() // _NS_PER_MS)

    def monotonic_ms(self) -> float:
        return time.monotonic_ns() / _NS_PER_MS


class _LoopTimer:
    """Timer that can be cancelled even though its handle changes with every interval."""

    __slots__ = ("_handle",)

    def __init__(self) -> None:
        self._handle: asyncio.TimerHandle | None = None

    def arm(self, handle: "asyncio.TimerHandle") -> None:
        self._handle = handle

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()


class LoopScheduler:
    """Timers of an asyncio loop; the loop's exception handler receives their errors."""

    def __init__(self, loop: "asyncio.AbstractEventLoop", clock: SystemClock) -> None:
        self._loop = loop
        self._clock = clock

    def call_at(self, when_ms: float, call: Callable[[], object]) -> _LoopTimer:
        timer = _LoopTimer()
        self._arm(timer, when_ms, call)
        return timer

    def every(self, interval_ms: float, call: Callable[[], object]) -> _LoopTimer:
        if interval_ms <= 0:
            raise ValueError(f"an interval is above 0, not {interval_ms} ms")
        timer = _LoopTimer()
        first_ms = self._clock.monotonic_ms() + interval_ms

        def ring(due_ms: float) -> None:
            missed = max(0.0, self._clock.monotonic_ms() - due_ms) // interval_ms
            next_ms = due_ms + (missed + 1) * interval_ms
            self._arm(timer, next_ms, partial(ring, next_ms))
            call()

        self._arm(timer, first_ms, partial(ring, first_ms))
        return timer

    def _arm(self, timer: _LoopTimer, when_ms: float, call: Callable[[], object]) -> None:
        delay_ms = max(0.0, when_ms - self._clock.monotonic_ms())
        timer.arm(self._loop.call_later(delay_ms / 1000, call))


def _pread(descriptor: int, length: int, position: int) -> bytes:
    """Read until `length` or the end of the file; on Linux one call returns at most 2 GiB."""
    data = os.pread(descriptor, length, position)
    if len(data) == length or not data:
        return data
    return data + _pread(descriptor, length - len(data), position + len(data))


class SystemSlice:
    """Range of a file descriptor."""

    __slots__ = ("_file", "length", "position")

    def __init__(self, file: "SystemFile", position: int, length: int) -> None:
        self._file: SystemFile | None = file
        self.position = position
        self.length = length

    @property
    def descriptor(self) -> int | None:
        return self._held().descriptor

    def read(self, start: int = 0, length: int | None = None) -> memoryview:
        wanted = self.length - start if length is None else length
        file = self._held()
        file.add_holder()
        try:
            return memoryview(_pread(file.descriptor, wanted, self.position + start))
        finally:
            file.release_holder()

    def read_cached(self, start: int, length: int) -> memoryview:
        if _ONLY_CACHED is None:
            return memoryview(b"")
        data = bytearray(length)
        descriptor = self._held().descriptor
        try:
            count = os.preadv(descriptor, [data], self.position + start, _ONLY_CACHED)
        except OSError as error:
            if error.errno not in _NOT_CACHED:
                raise
            count = 0
        return memoryview(data)[:count]

    def fail(self, error: OSError) -> KafkaStorageError:
        error.filename = self._held().path
        return KafkaStorageError(f"{error.filename}: {error.strerror}")

    def release(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.release_holder()

    def _held(self) -> "SystemFile":
        if self._file is None:
            raise ValueError("the slice has been released")
        return self._file


def _naming(
    call: "Callable[Concatenate[SystemFile, P], T]",
) -> "Callable[Concatenate[SystemFile, P], T]":
    """Add the file's path to errors of a call on its descriptor."""

    @wraps(call)
    def named(file: "SystemFile", /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(file, *args, **kwargs)
        except OSError as error:
            error.filename = file.path
            raise

    return named


class SystemFile:
    """File descriptor with a count of its holders: the opener and each slice."""

    __slots__ = ("_count_lock", "_holders", "_is_closed", "descriptor", "path")

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor
        self._holders = 1
        self._is_closed = False
        self._count_lock = threading.Lock()

    @property
    def size(self) -> int:
        return os.fstat(self._opened()).st_size

    @_naming
    def pread(self, length: int, position: int) -> bytes:
        return _pread(self._opened(), length, position)

    @_naming
    def pread_into(self, buffer: bytearray | memoryview, position: int) -> int:
        view = memoryview(buffer)
        done = 0
        while done < len(view):
            count = os.preadv(self._opened(), [view[done:]], position + done)
            if count == 0:
                break
            done += count
        return done

    def append(self, data: Buffer) -> int:
        position = self.size
        try:
            self.pwrite(data, position)
        except OSError:
            if self.size > position:
                os.ftruncate(self._opened(), position)
            raise
        return position

    @_naming
    def pwrite(self, data: Buffer, position: int) -> None:
        view = memoryview(data)
        done = 0
        while done < len(view):
            done += os.pwrite(self._opened(), view[done:], position + done)

    @_naming
    def preallocate(self, size: int) -> None:
        if size > self.size:
            os.ftruncate(self._opened(), size)

    @_naming
    def truncate(self, size: int) -> None:
        if size > self.size:
            raise ValueError(f"{self.path} has {self.size} bytes and cannot be truncated to {size}")
        os.ftruncate(self._opened(), size)

    @_naming
    def sync(self) -> None:
        os.fsync(self._opened())

    def slice(self, position: int, length: int) -> SystemSlice:
        self._opened()
        self.add_holder()
        return SystemSlice(self, position, length)

    def map(self) -> memoryview:
        if self.size == 0:
            return memoryview(b"")  # an empty file cannot be mapped
        return memoryview(mmap.mmap(self._opened(), 0, access=mmap.ACCESS_READ))

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self.release_holder()

    def _opened(self) -> int:
        """Return the descriptor, if the opener has not closed it; slices may still read it."""
        if self._is_closed:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)
        return self.descriptor

    def add_holder(self) -> None:
        """Add a holder of an open descriptor."""
        with self._count_lock:
            if not self._holders:
                raise ValueError(f"{self.path} has been closed")
            self._holders += 1

    def release_holder(self) -> None:
        """Remove one holder; the last one closes the descriptor."""
        with self._count_lock:
            self._holders -= 1
            is_last = self._holders == 0
        if is_last:
            os.close(self.descriptor)
            self.descriptor = -1


class SystemFileLock:
    """Kernel lock, which ends with the process."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _lock_exclusively(descriptor: int) -> None:
    """Lock a file against other Cordwood processes and against Java.

    Java, and so Apache Kafka, uses POSIX record locks, which do not conflict with a plain flock on
    Linux. POSIX locks end when the process closes any other descriptor of the file, and do not
    exclude a second owner in the same process. Linux has record locks of the open file description,
    which have neither problem and exclude Java's locks. On other systems, such as macOS, an flock
    conflicts with Java's locks.
    """
    if _LOCK_OF_OPEN_FILE is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        fcntl.fcntl(descriptor, _LOCK_OF_OPEN_FILE, _WHOLE_FILE)


def _is_of_kind(entry: os.DirEntry[str], kind: FileKind) -> bool:
    """Return whether a directory entry is of a kind; a link has the kind of its target."""
    if entry.is_symlink():
        return os.path.isfile(entry) if kind is FileKind.FILE else os.path.isdir(entry)
    return entry.is_file() if kind is FileKind.FILE else entry.is_dir()


class SystemFiles:
    """File system of the machine."""

    def create(self, path: str, *, is_private: bool = False) -> SystemFile:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        mode = _PRIVATE_MODE if is_private else _FILE_MODE
        return SystemFile(path, os.open(path, flags, mode))

    def open(self, path: str, *, writable: bool = False) -> SystemFile:
        access = os.O_RDWR if writable else os.O_RDONLY
        descriptor = os.open(path, access | os.O_CLOEXEC | os.O_NONBLOCK)
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode):
            return SystemFile(path, descriptor)
        os.close(descriptor)
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        raise OSError(errno.ESPIPE, "Not a file with bytes at positions", path)

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def make_directory(self, path: str) -> None:
        os.mkdir(path)

    def remove_directory(self, path: str) -> None:
        os.rmdir(path)

    def sync_directory(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def list(self, path: str, kind: FileKind | None = None) -> list[str]:
        with os.scandir(path) as entries:
            return sorted(
                entry.name for entry in entries if kind is None or _is_of_kind(entry, kind)
            )

    def stat(self, path: str) -> FileStat:
        found = os.stat(path)
        kind = _KINDS.get(stat.S_IFMT(found.st_mode))
        return FileStat(found.st_size, TimestampMs(found.st_mtime_ns // _NS_PER_MS), kind)

    def volume(self, path: str) -> Volume:
        found = os.statvfs(path)
        return Volume(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)

    def set_modified(self, path: str, modified_ms: TimestampMs) -> None:
        os.utime(path, ns=(modified_ms * _NS_PER_MS, modified_ms * _NS_PER_MS))

    def make_private(self, path: str) -> None:
        os.chmod(path, _PRIVATE_MODE)

    def lock(self, path: str) -> SystemFileLock:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)
        try:
            _lock_exclusively(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        return SystemFileLock(descriptor)


def _end(pools: Iterable[LaneThreads]) -> None:
    for pool in pools:
        pool.end()


class ThreadWorker:
    """Threads by lane, with group commit: at most one fsync of a file runs at a time.

    Callers that arrive during an fsync share the next one. `threads` replaces the number of each
    lane. The first thread of the lanes in `ready` starts at once, of the others with a call.
    """

    def __init__(self, threads: int | None = None, *, ready: Iterable[Lane] = ()) -> None:
        self._pools = {
            lane: LaneThreads(lane, threads or most) for lane, most in LANE_THREADS.items()
        }
        for lane in ready:
            self._pools[lane].ensure_idle()
        weakref.finalize(self, _end, (*self._pools.values(),))  # a forgotten worker has no threads
        self._waiting: dict[OpenFile, list[Future[None]]] = {}
        self._waiting_lock = threading.Lock()

    def submit(self, call: Callable[[], T], *, lane: Lane) -> Future[T]:
        return self._pools[lane].submit(call)

    def sync(self, file: OpenFile) -> Future[None]:
        pending: Future[None] = Future()
        with self._waiting_lock:
            waiting = self._waiting.get(file)
            if waiting is None:
                # It blocks on the lock at first.
                self._pools[Lane.FLUSH].submit(partial(self._sync_while_requested, file))
                self._waiting[file] = [pending]
            else:
                waiting.append(pending)
        return pending

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def _sync_while_requested(self, file: OpenFile) -> None:
        while waiting := self._next_batch(file):
            batch = [pending for pending in waiting if pending.set_running_or_notify_cancel()]
            try:
                file.sync()
            except Exception as error:  # noqa: BLE001 - the worker owns the task; the future carries it
                for pending in batch:
                    pending.set_exception(error)
            else:
                for pending in batch:
                    pending.set_result(None)

    def _next_batch(self, file: OpenFile) -> list[Future[None]]:
        """Take the waiting calls: their writes have returned, so one fsync covers all of them."""
        with self._waiting_lock:
            batch = self._waiting.pop(file)
            if batch:
                self._waiting[file] = []
            return batch


class SystemRandom:
    """Cryptographic random source of the operating system."""

    def below(self, limit: int) -> int:
        import secrets  # noqa: PLC0415  # few commands need it, and it loads hashes

        return secrets.randbelow(limit)

    def fraction(self) -> float:
        import secrets  # noqa: PLC0415  # as above

        return secrets.randbits(_FRACTION_BITS) / (1 << _FRACTION_BITS)

    def token(self, size: int) -> bytes:
        return os.urandom(size)
