"""What a machine has of what Cordwood needs, and what to do about the rest.

good    it is there
note    it would be of use: something is slower without it, or a part cannot be used
bad     nothing works before it is there
"""

import os
import re
import resource
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from cordwood.records import kernels

GOOD: Final = "good"
NOTE: Final = "note"
BAD: Final = "bad"

_PYTHON: Final = (3, 11)
_JAVA: Final = 17
#: The wheels that nothing works without; what the others are for.
_NEEDED: Final = ("cramjam", "google-crc32c", "numba", "numpy", "pyarrow", "rich", "typer")
_OF_USE: Final = {
    "uvloop": "the broker is slower",
    "crc32c": "checksums are slower",
    "pyspark": "there is no Spark",
    "deltalake": "Spark exports no tables of Delta Lake",
    "pyiceberg": "Spark exports no tables of Iceberg",
    "fastavro": "Spark decodes no Avro",
}
#: Those that come together, in the versions that fit each other.
_OF_SPARK: Final = frozenset({"pyspark", "deltalake", "pyiceberg", "fastavro"})
_PUSHES_FILTERS: Final = re.compile(
    r"^\s*spark\.sql\.python\.filterPushdown\.enabled[\s=:]+true\s*$", re.MULTILINE | re.IGNORECASE
)
_ROOM: Final = 1 << 30
_FILES: Final = 10_000
_JAVA_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_PATIENCE_S: Final = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one thing, and what to do about it if that is not all it should be."""

    subject: str
    state: str
    found: str
    remedy: str = ""

    def __str__(self) -> str:
        """Return it as a line."""
        words = f"{self.state}: {self.subject}: {self.found}"
        return f"{words}; {self.remedy}" if self.remedy else words


def look(data: str) -> list[Finding]:
    """Look at this machine, and at the place where logs are to be."""
    return [
        of_python(sys.version_info[:3]),
        *(of_wheel(name, _version(name)) for name in (*_NEEDED, *_OF_USE)),
        of_kernels(is_warm=kernels.is_warm()),
        of_java(_java_says()),
        *([] if _version("pyspark") is None else [of_filters(_spark_defaults())]),
        of_disk(data, _room(data)),
        of_descriptors(resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
    ]


def of_python(release: tuple[int, ...]) -> Finding:
    """Judge Python."""
    found = ".".join(map(str, release))
    if release >= _PYTHON:
        return Finding("Python", GOOD, found)
    return Finding("Python", BAD, found, "install Python 3.11 or later")


def of_wheel(name: str, found: str | None) -> Finding:
    """Judge a wheel by its version, which one that is not installed does not have."""
    if found is not None:
        return Finding(name, GOOD, found)
    if name in _OF_USE:
        wanted = "'cordwood[spark]'" if name in _OF_SPARK else name
        return Finding(name, NOTE, f"not installed: {_OF_USE[name]}", f"pip install {wanted}")
    return Finding(name, BAD, "not installed", f"pip install {name}")


def of_kernels(*, is_warm: bool) -> Finding:
    """Judge whether records are read by machine code."""
    if is_warm:
        return Finding("kernels", GOOD, "compiled")
    return Finding(
        "kernels",
        NOTE,
        "not compiled yet: plain Python reads, and slowly",
        "a broker compiles them, and so does cordwood.warm(print)",
    )


def of_java(said: str | None) -> Finding:
    """Judge Java by what `java -version` says."""
    told = None if said is None else _JAVA_VERSION.search(said)
    if told is not None and int(told[1]) >= _JAVA:
        return Finding("Java", GOOD, told[1])
    found = "not found" if told is None else told[1]
    return Finding("Java", NOTE, f"{found}: Spark needs it", f"install Java {_JAVA} or later")


def of_filters(defaults: str) -> Finding:
    """Judge by Spark's defaults whether it hands filters to sources written in Python."""
    if _PUSHES_FILTERS.search(defaults):
        return Finding("Spark's filters", GOOD, "handed to sources")
    return Finding(
        "Spark's filters",
        NOTE,
        "not handed to sources, so that the option pushFilters does nothing",
        "set spark.sql.python.filterPushdown.enabled=true where you use it",
    )


def of_disk(path: str, room: int | None) -> Finding:
    """Judge the room for logs; None where nothing can be written."""
    if room is None:
        return Finding(path, BAD, "cannot be written to", "choose another place, or get the right")
    found = f"{room / 1e9:,.1f} GB free"
    if room >= _ROOM:
        return Finding(path, GOOD, found)
    return Finding(path, NOTE, found, "make room, or set log.retention.bytes")


def of_descriptors(limit: int) -> Finding:
    """Judge how many files and connections a process may have open."""
    if limit >= _FILES or limit == resource.RLIM_INFINITY:
        return Finding("descriptors", GOOD, "no limit" if limit < 0 else f"{limit:,}")
    return Finding(
        "descriptors", NOTE, f"{limit:,}", f"raise the hard limit to {_FILES:,}: ulimit -Hn"
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _java_says() -> str | None:
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java" if not home else str(Path(home, "bin", "java")))
    if program is None:
        return None
    done = subprocess.run(  # noqa: S603  # the program that the path has under this name
        [program, "-version"], capture_output=True, text=True, timeout=_PATIENCE_S, check=False
    )
    return done.stderr


def _spark_defaults() -> str:
    """Return the text of the settings that sessions begin with; none where there are none."""
    folder = os.environ.get("SPARK_CONF_DIR")
    if folder is None and "SPARK_HOME" in os.environ:
        folder = str(Path(os.environ["SPARK_HOME"], "conf"))
    file = None if folder is None else Path(folder, "spark-defaults.conf")
    return "" if file is None or not file.is_file() else file.read_text(errors="replace")


def _room(path: str) -> int | None:
    """Return what is free where a path is, or would be made."""
    place = Path(path)
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free if os.access(place, os.W_OK) else None
