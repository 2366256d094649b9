"""Where compiled kernels lie, and when they may be used.

The folder's name carries a hash of every kernel source, of the versions of numba and Python and of
the processor: numba itself does not notice an edited callee in another module. It carries the
sources' place and time too, because numba compiles again, silently, when one of those is not what
it has seen. A marker is written last, after every kernel has been compiled, so that a folder that
is torn or still being written is never taken for warm; two processes that compile at once write the
same bytes twice.
"""

import hashlib
import os
import platform
import sys
import tempfile
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

_MARKER: Final = "ready"
_VENDORS: Final = ("numba", "llvmlite", "numpy")


def base_folder() -> Path:
    """The folder that the user names, else the one the system keeps for caches."""
    for name in ("CORDWOOD_CACHE_DIR", "NUMBA_CACHE_DIR"):
        if named := os.environ.get(name):
            return Path(named)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def spare_folder() -> Path:
    """A folder of this user's own under the temporary one, for when the first cannot be written."""
    return Path(tempfile.gettempdir()) / f"cordwood-{os.getuid() if hasattr(os, 'getuid') else 0}"


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """A hash of everything that machine code depends on."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).resolve().parent.glob("*.py")):
        written = f"{source}\0{source.stat().st_mtime_ns}\0"
        digest.update(written.encode() + source.read_bytes() + b"\0")
    versions = [f"{vendor} {version(vendor)}" for vendor in _VENDORS]
    digest.update(repr((versions, sys.version, _processor())).encode())
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
    own, spare = (folder_in(base) for base in (base_folder(), spare_folder()))
    return is_ready(own) or (is_ready(spare) and not is_writable(own))


def is_ready(place: Path) -> bool:
    """Whether every kernel has been compiled into this folder, by this user or a trusted one."""
    try:
        return (place / _MARKER).is_file() and _is_own(place)
    except OSError:
        return False


def is_writable(place: Path) -> bool:
    """Whether files can be made there; the folder is made when it is missing."""
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=place):
            return _is_own(place)
    except OSError:
        return False


def _is_own(place: Path) -> bool:
    """Machine code is run as it lies there, so nobody else may own the folder, root excepted."""
    return not hasattr(os, "getuid") or place.stat().st_uid in {0, os.getuid()}


def mark_ready(place: Path) -> None:
    """Say that every kernel is there: the last thing written."""
    torn = place / f"{_MARKER}-{os.getpid()}"
    torn.write_text("every kernel is compiled\n", encoding="utf-8")
    torn.replace(place / _MARKER)
