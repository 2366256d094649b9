"""Checks of a machine: Python, wheels, kernels, Java, Spark, disk and descriptors.

good    present
note    missing but optional: something is slower, or one part of Cordwood is unavailable
bad     missing and required
"""

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from cordwood.cli.client_defaults import config_path, read_defaults
from cordwood.compaction import kernels as compaction_kernels
from cordwood.core.errors import KernelLibraryError, SettingError
from cordwood.core.installation import install_command
from cordwood.records import kernels
from cordwood.records.kernels.kernel_library import FAULT, LIBRARY, REMEDY, ensure_not_cut
from cordwood.spark.runtime.stream_settings import SHORT_BATCHES

GOOD: Final = "good"
NOTE: Final = "note"
BAD: Final = "bad"

_PYTHON: Final = (3, 11)
_JAVA: Final = 17
#: The required wheels; then the optional ones, with the effect of their absence.
_REQUIRED: Final = ("cramjam", "google-crc32c", "numpy", "pyarrow", "rich", "typer")
_OPTIONAL: Final = {
    "uvloop": "the broker is slower",
    "crc32c": "checksums are slower",
    "kazoo": "a broker cannot join a cluster, and `cordwood cluster up` cannot start one",
    "pyspark": "Spark is unavailable",
    "deltalake": "Spark cannot export Delta Lake tables",
    "pyiceberg": "Spark cannot export Iceberg tables",
    "fastavro": "Spark cannot decode Avro",
    "protobuf": "Spark cannot decode Protobuf",
}
#: Wheels of one extra, which pins versions that work together.
_PUSHES_FILTERS: Final = re.compile(
    r"^\s*spark\.sql\.python\.filterPushdown\.enabled[\s=:]+true\s*$", re.MULTILINE | re.IGNORECASE
)
_FREE_BYTES: Final = 1 << 30
_DESCRIPTORS: Final = 10_000
_JAVA_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_JAVA_TIMEOUT_S: Final = 10
_PYTHON_TIMEOUT_S: Final = 10


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check, and a remedy unless the state is good."""

    subject: str
    state: str
    found: str
    remedy: str = ""

    def __str__(self) -> str:
        """Return the result as one line."""
        text = f"{self.state}: {self.subject}: {self.found}"
        return f"{text}; {self.remedy}" if self.remedy else text


def run_checks(data: str) -> list[CheckResult]:
    """Check this machine, and the disk of the log directory."""
    return [
        check_python(sys.version_info[:3]),
        *(check_wheel(name, _version(name)) for name in (*_REQUIRED, *_OPTIONAL)),
        check_kernels(None if LIBRARY is None else LIBRARY.level, FAULT, error=library_error()),
        check_java(_java_version_output()),
        *([] if _version("pyspark") is None else _check_spark(_spark_defaults())),
        check_configuration(os.environ),
        check_disk(data, _free_bytes(data)),
        check_descriptors(resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
    ]


def check_python(release: tuple[int, ...]) -> CheckResult:
    """Check the release of Python."""
    found = ".".join(map(str, release))
    if release >= _PYTHON:
        return CheckResult("Python", GOOD, found)
    return CheckResult("Python", BAD, found, "install Python 3.11 or later")


def check_wheel(name: str, found: str | None) -> CheckResult:
    """Check a wheel; `found` is its version, None if it is not installed."""
    if found is not None:
        return CheckResult(name, GOOD, found)
    if name in _OPTIONAL:
        effect = f"not installed: {_OPTIONAL[name]}"
        return CheckResult(name, NOTE, effect, install_command(name))
    return CheckResult(name, BAD, "not installed", install_command(name))


def check_kernels(
    level: str | None, fault: str, *, error: KernelLibraryError | None = None
) -> CheckResult:
    """Check the library of kernels; `level` is that of the processor, None without a library.

    `error` is that of each command that uses kernels.
    """
    if error is not None:
        return CheckResult("kernels", BAD, f"{error.path}: {error.problem}", error.remedy)
    if level is not None:
        return CheckResult("kernels", GOOD, f"machine code for {level}")
    return CheckResult("kernels", NOTE, f"{fault}; plain Python reads records, slowly", REMEDY)


def check_java(version_output: str | None) -> CheckResult:
    """Check the release of Java by the output of `java -version`."""
    release = None if version_output is None else _JAVA_VERSION.search(version_output)
    if release is not None and int(release[1]) >= _JAVA:
        return CheckResult("Java", GOOD, release[1])
    found = "not found" if release is None else release[1]
    return CheckResult(
        "Java",
        NOTE,
        f"{found}: Spark and the ZooKeeper of `cordwood cluster up` need it",
        f"install Java {_JAVA} or later",
    )


def check_configuration(environment: Mapping[str, str]) -> CheckResult:
    """Check the file with the commands' defaults."""
    path, subject = config_path(environment), "configuration file"
    try:
        defaults = read_defaults(environment)
    except (SettingError, OSError) as error:
        return CheckResult(subject, BAD, str(error), f"correct {path}, or unset CORDWOOD_CONFIG")
    server = defaults.settings.get("bootstrap.servers", "not set")
    if not path.is_file():
        return CheckResult(subject, GOOD, f"none at {path}; the bootstrap server is {server}")
    return CheckResult(subject, GOOD, f"{path}; the bootstrap server is {server}")


def check_spark_python(program: str, prefix: str | None, *, own: str) -> CheckResult:
    """Check the Python in which Spark looks for data sources; the prefixes are `sys.prefix`."""
    if prefix == own:
        return CheckResult("Spark's Python", GOOD, own)
    found = f"{program} cannot be run" if prefix is None else f"{program} is that of {prefix}"
    return CheckResult(
        "Spark's Python",
        NOTE,
        f"{found}: Spark may not find format('cordwood')",
        f"activate {own}, set PYSPARK_PYTHON={own}/bin/python3, or call "
        "cordwood.spark.register(spark)",
    )


def check_filters(defaults: str) -> CheckResult:
    """Check whether Spark's defaults enable filter pushdown for Python data sources."""
    if _PUSHES_FILTERS.search(defaults):
        return CheckResult("Spark's filters", GOOD, "pushed down to sources")
    return CheckResult(
        "Spark's filters",
        NOTE,
        "not pushed down to sources, so the option pushFilters has no effect",
        "set spark.sql.python.filterPushdown.enabled=true to use it",
    )


def check_streams(defaults: str) -> CheckResult:
    """Check whether Spark's defaults have the settings for short batches of streams."""
    missing = [
        f"{name}={value}"
        for name, value in SHORT_BATCHES.items()
        if re.search(rf"^\s*{re.escape(name)}[\s=:]+{re.escape(value)}\s*$", defaults, re.MULTILINE)
        is None
    ]
    if not missing:
        return CheckResult("Spark's streams", GOOD, "short batches")
    return CheckResult(
        "Spark's streams",
        NOTE,
        "each batch takes longer than it needs on local disks",
        f"set {' and '.join(missing)}, the latter not for HDFS or S3"
        if len(missing) > 1
        else f"set {missing[0]}",
    )


def check_disk(path: str, free_bytes: int | None) -> CheckResult:
    """Check the free disk space; None means that the path is not writable."""
    if free_bytes is None:
        return CheckResult(
            path, BAD, "not writable", "choose another directory, or change its permissions"
        )
    found = f"{free_bytes / 1e9:,.1f} GB free"
    if free_bytes >= _FREE_BYTES:
        return CheckResult(path, GOOD, found)
    return CheckResult(path, NOTE, found, "free some space, or set log.retention.bytes")


def check_descriptors(limit: int) -> CheckResult:
    """Check the limit of open files and connections of a process."""
    if limit >= _DESCRIPTORS or limit == resource.RLIM_INFINITY:
        return CheckResult("descriptors", GOOD, "no limit" if limit < 0 else f"{limit:,}")
    return CheckResult(
        "descriptors", NOTE, f"{limit:,}", f"raise the hard limit to {_DESCRIPTORS:,}: ulimit -Hn"
    )


def library_error() -> KernelLibraryError | None:
    """Return the error of a library that was cut, or that lacks a kernel of these sources."""
    try:
        ensure_not_cut()
        for package in () if LIBRARY is None else (kernels, compaction_kernels):
            for module in (each for half in package.PARTS for each in half):
                import_module(f"{package.__name__}.{module}")
    except KernelLibraryError as error:
        return error
    except ModuleNotFoundError:
        return None  # numpy is missing, which is a problem of its own
    return None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _java_version_output() -> str | None:
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java" if not home else str(Path(home, "bin", "java")))
    if program is None:
        return None
    done = subprocess.run(  # noqa: S603  # the program that the path has under this name
        [program, "-version"], capture_output=True, text=True, timeout=_JAVA_TIMEOUT_S, check=False
    )
    return done.stderr


def _check_spark(defaults: str) -> list[CheckResult]:
    program = os.environ.get("PYSPARK_PYTHON", "python3")
    python = check_spark_python(program, _prefix_of(program), own=sys.prefix)
    return [python, check_filters(defaults), check_streams(defaults)]


def _prefix_of(program: str) -> str | None:
    """Return the `sys.prefix` of a Python; None if it cannot be run."""
    path = shutil.which(program)
    if path is None:
        return None
    done = subprocess.run(  # noqa: S603  # the program that Spark runs too
        [path, "-c", "import sys; print(sys.prefix)"],
        capture_output=True,
        text=True,
        timeout=_PYTHON_TIMEOUT_S,
        check=False,
    )
    return done.stdout.strip() or None


def _spark_defaults() -> str:
    """Return the text of spark-defaults.conf, or an empty text without that file."""
    folder = os.environ.get("SPARK_CONF_DIR")
    if folder is None and "SPARK_HOME" in os.environ:
        folder = str(Path(os.environ["SPARK_HOME"], "conf"))
    file = None if folder is None else Path(folder, "spark-defaults.conf")
    return "" if file is None or not file.is_file() else file.read_text(errors="replace")


def _free_bytes(path: str) -> int | None:
    """Return the free space of the disk on which a path is, or would be created."""
    existing = Path(path)
    while not existing.exists():
        existing = existing.parent
    return shutil.disk_usage(existing).free if os.access(existing, os.W_OK) else None
