"""Cache folder of compiled kernels, and the rules for its use.

The folder's name contains a hash of the sources of all packages of kernels, of the versions of
numba and Python and of the processor: numba does not detect an edited callee in another module. It
contains the sources' path and modification time too, because numba recompiles in silence when one
of them differs.

    kernels-<fingerprint>/
        ready                  the marker: a generation, then size, SHA-256 and name of each file
        generation-<random>/   the output of one process, numba's *.nbi and *.nbc
        *.nbi, *.nbc           compiled for a caller of `KernelDecoder` while it was cold

The marker is written last, by replacement, and names one generation. So two compiling processes do
not mix, and a torn, cleaned or unfinished folder never counts as warm. Machine code is executed
from there, so a folder is used only if no other user can write to it.
"""

import fcntl
import hashlib
import os
import platform
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

_MARKER: Final = "ready"
_TURN: Final = "turn"
_KEPT: Final = frozenset({".nbi", ".nbc"})
_VENDORS: Final = ("numba", "llvmlite", "numpy")
#: Options that change the machine code; each value has kernels of its own.
_CODE_SETTINGS: Final = (
    "NUMBA_CPU_NAME",
    "NUMBA_CPU_FEATURES",
    "NUMBA_ENABLE_AVX",
    "NUMBA_OPT",
    "NUMBA_LOOP_VECTORIZE",
    "NUMBA_SLP_VECTORIZE",
)
_WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH


class ColdError(Exception):
    """A kernel would have to be compiled where that is forbidden; `decoder` catches it."""


class KernelFolder(NamedTuple):
    """The folder that kernels are loaded from and stored in, and the treatment of missing ones."""

    #: None if no folder can be used: then kernels live in the compiling process only.
    folder: Path | None
    #: Compile missing kernels; otherwise raise `ColdError`.
    compiles: bool = True
    #: A kernel that cannot be stored is an error; otherwise the failure is ignored.
    must_keep: bool = False


class _Kept(NamedTuple):
    path: Path
    size: int
    digest: str


_chosen: ContextVar[KernelFolder | None] = ContextVar("_chosen", default=None)
#: Damaged generations that could not be removed: a warm cache may be read-only.
_damaged: set[Path] = set()


def base_folder() -> Path:
    """Return the user's cache folder, else the system's."""
    for name in ("CORDWOOD_CACHE_DIR", "NUMBA_CACHE_DIR"):
        if named := os.environ.get(name):
            return Path(named)
    if named := os.environ.get("XDG_CACHE_HOME", "") if sys.platform != "darwin" else "":
        return Path(named)
    try:
        home = Path.home()
    except RuntimeError:  # a user without a name, as containers have them
        return spare_folder()
    return home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"


def spare_folder() -> Path:
    """Return this user's folder under the temporary one, for an unwritable cache folder."""
    number = os.getuid() if hasattr(os, "getuid") else 0
    try:
        temporary = _resolved(tempfile.gettempdir())
    except FileNotFoundError:  # none can be written, so it does not matter which is named
        temporary = Path("/tmp")  # noqa: S108  # nothing is made here before `_is_trusted` has looked
    return temporary / f"cordwood-{number}"


@lru_cache(maxsize=1)
def _resolved(path: str) -> Path:
    return Path(path).resolve()


def packages() -> list[Path]:
    """Return every package of kernels: the folders `kernels` of all packages, this one included."""
    return sorted(Path(__file__).resolve().parents[2].glob("*/kernels"))


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """Return a hash of all inputs of the machine code."""
    digest = hashlib.sha256()
    sources = (source for package in packages() for source in sorted(package.glob("*.py")))
    for source in sources:
        written = f"{source}\0{source.stat().st_mtime_ns}\0"
        digest.update(written.encode() + source.read_bytes() + b"\0")
    versions = [f"{vendor} {version(vendor)}" for vendor in _VENDORS]
    settings = [os.environ.get(name) for name in _CODE_SETTINGS]
    digest.update(repr((versions, sys.version, _processor(), settings)).encode())
    return digest.hexdigest()[:16]


def _processor() -> str:
    """Return the processor's name and features, without loading LLVM."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            said = {line for line in lines if line.startswith(("model name", "flags", "Features"))}
    except OSError:
        said = {platform.processor()}
    return platform.machine() + "".join(sorted(said))


def folder_in(base: Path) -> Path:
    """Return the folder under `base` for exactly these kernels."""
    return base / "cordwood" / f"kernels-{fingerprint()}"


def folder() -> Path:
    """Return the folder to compile into or load from: the user's own, or the spare one."""
    own, spare = (folder_in(base) for base in (base_folder(), spare_folder()))
    return next((place for place in (own, spare) if is_ready(place) or is_writable(place)), own)


def is_warm() -> bool:
    """Return whether every kernel has been compiled into the folder in use."""
    return is_ready(folder())


def is_ready(place: Path) -> bool:
    """Return whether every compiled file still exists in this folder, with its size."""
    return bool(_ready(place))


def is_sound(place: Path) -> bool:
    """Return whether the folder is intact to the last byte, which takes a few milliseconds.

    Machine code with zeros in it, as after a power loss, would crash the process.
    """
    try:
        kept = _ready(place)
        return bool(kept) and all(_digest(file.path) == file.digest for file in kept)
    except OSError:
        return False


def _ready(place: Path) -> tuple[_Kept, ...]:
    """Return the marker's list, if all of its files exist."""
    try:
        kept = _marked(place) if _is_trusted(place) else ()
        return kept if all(file.path.stat().st_size == file.size for file in kept) else ()
    except OSError:
        return ()


def is_writable(place: Path) -> bool:
    """Return whether files could be created there, without creating anything."""
    try:
        nearest = next(it for it in (place, *place.parents) if _status(it) is not None)
        return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK) and _is_trusted(place)
    except OSError:
        return False


def make(place: Path) -> None:
    """Create a folder that only this user can write to, or raise `PermissionError`."""
    mode = 0o700 if place.is_relative_to(spare_folder()) else 0o755
    missing = [folder for folder in (place, *place.parents) if _status(folder) is None]
    for folder in reversed(missing):
        folder.mkdir(mode, exist_ok=True)
    if not _is_trusted(place):
        raise PermissionError(f"others could write to {place}, and machine code is run from there")


def _is_trusted(place: Path) -> bool:
    """Return whether only this user and root can write there.

    The user is responsible for the folders above a configured cache. The temporary folder is
    shared, so there each parent folder counts: one of another user, or one that others may replace,
    is rejected. A missing folder is safe.
    """
    if not hasattr(os, "getuid"):
        return True
    spare = spare_folder()
    above = place.parents if place.is_relative_to(spare) else ()
    return all(_is_closed(path, is_shared=path in spare.parents) for path in (place, *above))


def _is_closed(path: Path, *, is_shared: bool) -> bool:
    """Return whether others cannot change this folder, or in a shared one only their own files."""
    status = _status(path)
    if status is None:
        return True
    is_open = bool(status.st_mode & _WRITABLE_BY_OTHERS)
    keeps_apart = is_shared and bool(status.st_mode & stat.S_ISVTX)
    is_own = status.st_uid in {0, os.getuid()}
    return stat.S_ISDIR(status.st_mode) and is_own and (keeps_apart or not is_open)


def _status(path: Path) -> os.stat_result | None:
    """Return the status of a path, without following links; None if it does not exist."""
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """Hold the lock of a folder during a compilation: other processes wait."""
    make(place)
    with (place / _TURN).open("wb") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


@contextmanager
def generation(place: Path) -> Iterator[Path]:
    """Yield a new folder to compile every kernel into; it becomes the folder in use.

    It is removed on failure, and when another process was first.
    """
    distrust(place)
    make(place)
    made = Path(tempfile.mkdtemp(prefix="generation-", dir=place))
    made.chmod(stat.S_IMODE(place.stat().st_mode))
    try:
        yield made
        if not is_ready(place):
            mark_ready(place, made.name)
    finally:
        if all(file.path.parent != made for file in _marked(place)):
            shutil.rmtree(made, ignore_errors=True)


@contextmanager
def compiling(made: Path) -> Iterator[None]:
    """Compile into an unfinished generation, of this process or of its parent."""
    with _choose(KernelFolder(made, must_keep=True)):
        yield


def mark_ready(place: Path, name: str) -> None:
    """Write the marker with the generation of that name, as the last step."""
    files = sorted(file for file in (place / name).iterdir() if file.suffix in _KEPT)
    lines = [f"{file.stat().st_size} {_digest(file)} {file.name}" for file in files]
    torn = place / f"{_MARKER}-{os.getpid()}"
    torn.write_text("\n".join((name, *lines, "")), encoding="utf-8")
    torn.replace(place / _MARKER)


def distrust(place: Path) -> None:
    """Make a folder cold, so that its kernels are compiled again, and remove the damaged files."""
    for damaged in {file.path.parent for file in _marked(place)}:
        _damaged.add(damaged)
        shutil.rmtree(damaged, ignore_errors=True)
    with suppress(OSError):
        (place / _MARKER).unlink()


def _marked(place: Path) -> tuple[_Kept, ...]:
    """Return the content of the marker; empty if the marker or its files are missing or damaged."""
    try:
        name, *lines = (place / _MARKER).read_text(encoding="utf-8").splitlines()
        fields = [line.split(" ", 2) for line in lines]
        kept = tuple(_Kept(place / name / file, int(size), digest) for size, digest, file in fields)
    except (OSError, ValueError):
        return ()
    return () if place / name in _damaged else kept


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@contextmanager
def loading(place: Path) -> Iterator[None]:
    """Load kernels from a warm folder; raise `ColdError` where one would be compiled."""
    if not is_sound(place):
        raise ColdError(f"the kernels in {place} are not what was compiled")
    with _choose(KernelFolder(_marked(place)[0].path.parent, compiles=False)):
        yield


@contextmanager
def _choose(shelf: KernelFolder) -> Iterator[None]:
    """Use this folder for the kernels that this thread imports in the context."""
    before = _chosen.set(shelf)
    try:
        yield
    finally:
        _chosen.reset(before)


def is_for_others() -> bool:
    """Return whether the present import only compiles, in a process that calls no kernel."""
    chosen = _chosen.get()
    return chosen is not None and chosen.must_keep


def shelf() -> KernelFolder:
    """Return the folder for the present import: the chosen one, or the default."""
    if chosen := _chosen.get():
        return chosen
    place = folder()
    if kept := _ready(place):
        return KernelFolder(kept[0].path.parent)
    return KernelFolder(place if is_writable(place) else None)
