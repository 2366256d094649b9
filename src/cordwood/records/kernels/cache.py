"""Where compiled kernels lie, and when they may be used.

The folder's name carries a hash of the sources of all packages of kernels, of the versions of numba
and Python and of the processor: numba itself does not notice an edited callee in another module. It
carries the sources' place and time too, because numba compiles again, silently, when one of those
is not what it has seen.

    kernels-<fingerprint>/
        ready                  the marker: a generation, then size, SHA-256 and name of each file
        generation-<chance>/   what one process has compiled, numba's *.nbi and *.nbc
        *.nbi, *.nbc           what was compiled for who asked for `KernelDecoder` while it was cold

The marker is written last, by replacing it, and names one generation: two processes that compile at
once do not mix, and a folder that is torn, cleaned or still being written is never taken for warm.
Machine code is run as it lies there, so a place is used only if nobody else can write to it.
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
#: What changes the machine code: a kernel compiled under one value is not found under another.
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
    """A kernel would have to be compiled where that must not happen; `decoder` catches it."""


class Shelf(NamedTuple):
    """The folder that kernels are loaded from and kept in, and what happens to a missing one."""

    #: None where no folder can be used: kernels serve the process that compiles them.
    folder: Path | None
    #: Compile what is missing; otherwise `ColdError`.
    compiles: bool = True
    #: A kernel that cannot be kept is an error; otherwise nobody needs to know.
    must_keep: bool = False


class _Kept(NamedTuple):
    path: Path
    size: int
    digest: str


_chosen: ContextVar[Shelf | None] = ContextVar("_chosen", default=None)
#: Generations that were found damaged and could not be removed: a warm cache may be read-only.
_damaged: set[Path] = set()


def base_folder() -> Path:
    """The folder that the user names, else the one the system keeps for caches."""
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
    """A folder of this user's own under the temporary one, for when the first cannot be written."""
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
    """Every package of kernels: `kernels` in the packages that have any, this one among them."""
    return sorted(Path(__file__).resolve().parents[2].glob("*/kernels"))


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """A hash of everything that machine code depends on."""
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
    """The processor's name and what it can do, without loading LLVM to ask."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            said = {line for line in lines if line.startswith(("model name", "flags", "Features"))}
    except OSError:
        said = {platform.processor()}
    return platform.machine() + "".join(sorted(said))


def folder_in(base: Path) -> Path:
    """The folder under `base` for exactly these kernels."""
    return base / "cordwood" / f"kernels-{fingerprint()}"


def folder() -> Path:
    """The folder to compile into or load from: the user's own, or the spare one if it has to be."""
    own, spare = (folder_in(base) for base in (base_folder(), spare_folder()))
    return next((place for place in (own, spare) if is_ready(place) or is_writable(place)), own)


def is_warm() -> bool:
    """Whether every kernel has been compiled, into the folder that is used."""
    return is_ready(folder())


def is_ready(place: Path) -> bool:
    """Whether every kernel that was compiled into this folder still lies there, by its size."""
    return bool(_ready(place))


def is_sound(place: Path) -> bool:
    """Whether the folder is ready to the last byte, which takes a few milliseconds to say.

    Machine code with zeros in it, as a power cut leaves them, would crash the process.
    """
    try:
        kept = _ready(place)
        return bool(kept) and all(_digest(file.path) == file.digest for file in kept)
    except OSError:
        return False


def _ready(place: Path) -> tuple[_Kept, ...]:
    """What the marker lists, if all of that lies there."""
    try:
        kept = _marked(place) if _is_trusted(place) else ()
        return kept if all(file.path.stat().st_size == file.size for file in kept) else ()
    except OSError:
        return ()


def is_writable(place: Path) -> bool:
    """Whether files could be made there; nothing is, not even a missing folder."""
    try:
        nearest = next(it for it in (place, *place.parents) if _status(it) is not None)
        return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK) and _is_trusted(place)
    except OSError:
        return False


def make(place: Path) -> None:
    """Make a folder that only this user can write to; `PermissionError` where that cannot be."""
    mode = 0o700 if place.is_relative_to(spare_folder()) else 0o755
    missing = [folder for folder in (place, *place.parents) if _status(folder) is None]
    for folder in reversed(missing):
        folder.mkdir(mode, exist_ok=True)
    if not _is_trusted(place):
        raise PermissionError(f"others could write to {place}, and machine code is run from there")


def _is_trusted(place: Path) -> bool:
    """Whether nobody but this user and root can put files there, or has.

    The user answers for the folders above a cache that the user names. The temporary folder is
    everybody's, so there each folder on the way counts: one of another user's, or one in which
    others may put another in its place, is refused. What is not there yet is no danger.
    """
    if not hasattr(os, "getuid"):
        return True
    spare = spare_folder()
    above = place.parents if place.is_relative_to(spare) else ()
    return all(_is_closed(path, is_shared=path in spare.parents) for path in (place, *above))


def _is_closed(path: Path, *, is_shared: bool) -> bool:
    """Whether others cannot change this folder; where it is shared, whether they keep to theirs."""
    status = _status(path)
    if status is None:
        return True
    is_open = bool(status.st_mode & _WRITABLE_BY_OTHERS)
    keeps_apart = is_shared and bool(status.st_mode & stat.S_ISVTX)
    is_own = status.st_uid in {0, os.getuid()}
    return stat.S_ISDIR(status.st_mode) and is_own and (keeps_apart or not is_open)


def _status(path: Path) -> os.stat_result | None:
    """What lies there, a link as a link; None for nothing."""
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """Let no other process compile into a folder meanwhile: it waits, and may find all done."""
    make(place)
    with (place / _TURN).open("wb") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


@contextmanager
def generation(place: Path) -> Iterator[Path]:
    """A new folder to compile every kernel into, which is the one in use from then on.

    It goes again when that fails, and when another process was first.
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
    """Compile into a generation that is being made, by this process or by the one that began it."""
    with _choose(Shelf(made, must_keep=True)):
        yield


def mark_ready(place: Path, name: str) -> None:
    """Say that every kernel is there, in the generation of that name: the last thing written."""
    files = sorted(file for file in (place / name).iterdir() if file.suffix in _KEPT)
    lines = [f"{file.stat().st_size} {_digest(file)} {file.name}" for file in files]
    torn = place / f"{_MARKER}-{os.getpid()}"
    torn.write_text("\n".join((name, *lines, "")), encoding="utf-8")
    torn.replace(place / _MARKER)


def distrust(place: Path) -> None:
    """Make a folder cold, so that its kernels are compiled again, and remove what was damaged."""
    for damaged in {file.path.parent for file in _marked(place)}:
        _damaged.add(damaged)
        shutil.rmtree(damaged, ignore_errors=True)
    with suppress(OSError):
        (place / _MARKER).unlink()


def _marked(place: Path) -> tuple[_Kept, ...]:
    """What the marker says; nothing when there is none, or it is damaged, or what it names is."""
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
    """Let kernels be loaded from a warm folder; `ColdError` where one would be compiled."""
    if not is_sound(place):
        raise ColdError(f"the kernels in {place} are not what was compiled")
    with _choose(Shelf(_marked(place)[0].path.parent, compiles=False)):
        yield


@contextmanager
def _choose(shelf: Shelf) -> Iterator[None]:
    """Let the kernels that this thread imports meanwhile lie on that shelf."""
    before = _chosen.set(shelf)
    try:
        yield
    finally:
        _chosen.reset(before)


def is_for_others() -> bool:
    """Whether what is imported now is compiled to be kept, by a process that calls none of it."""
    chosen = _chosen.get()
    return chosen is not None and chosen.must_keep


def shelf() -> Shelf:
    """Where a kernel lies that is imported now: the chosen shelf, or what anybody may fill."""
    if chosen := _chosen.get():
        return chosen
    place = folder()
    if kept := _ready(place):
        return Shelf(kept[0].path.parent)
    return Shelf(place if is_writable(place) else None)
