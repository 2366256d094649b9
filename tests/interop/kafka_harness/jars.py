"""Kafka's jars, fetched once per version with Maven, and our Java program, compiled against them.

Both are under build/, each with a stamp of its sources.
"""

import fcntl
import hashlib
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

INTEROP: Final = Path(__file__).resolve().parents[1]
BUILD: Final = INTEROP.parents[1] / "build" / "interop"
SOURCES: Final = (
    "RecordsOracle.java",
    "Clients.java",
    "LivingConsumer.java",
    "Administration.java",
    "Groups.java",
    "Members.java",
    "Messages.java",
    "Questions.java",
)
MAVEN_PATIENCE_S: Final = 200


class MissingToolError(Exception):
    """A tool of these tests is missing on this machine, or Maven could not fetch it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jars:
    """One Kafka version, ready to run: its jars and our classes."""

    version: str
    folder: Path

    @property
    def class_path(self) -> str:
        return f"{self.folder / 'classes'}:{self.folder / 'jars'}/*"

    def command(self, main_class: str, *arguments: str, heap: str = "256m") -> list[str]:
        """The command line that runs a main class; quick to start rather than fast for long."""
        options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f"-Xmx{heap}"]
        quiet = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
        return ["java", *options, *quiet, "-cp", self.class_path, main_class, *arguments]


def fetch(version: str) -> Jars:
    """The jars of one version ("kafka-4.3.0"), fetched and compiled against when they are not."""
    for tool in ("java", "javac", "mvn"):
        if shutil.which(tool) is None:
            message = f"{tool} is not installed: Kafka's own classes need Java 17 and Maven"
            raise MissingToolError(message)
    folder = BUILD / version
    jars = Jars(version=version, folder=folder)
    pom = INTEROP / "maven" / version / "pom.xml"
    make_once(folder / "jars", pom.read_bytes(), lambda target: copy_jars(pom, target))
    sources = _sources(version)
    mark = "".join(sources.values()).encode()
    make_once(folder / "classes", mark, lambda target: _compile(jars, sources, target))
    return jars


def make_once(folder: Path, made_from: bytes, make: Callable[[Path], None]) -> None:
    """Make a folder unless its stamp has the same sources."""
    stamp = folder / "made-from.sha256"
    digest = hashlib.sha256(made_from).hexdigest()
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Another worker of the same run may make it meanwhile: the lock lets it finish first.
    with folder.with_name(f"{folder.name}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.is_file() and stamp.read_text() == digest:
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        make(folder)
        stamp.write_text(digest)


def copy_jars(pom: Path, target: Path) -> None:
    """Let Maven put the jars that a POM names, and what they need, into a folder."""
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={target}"]
    _run(["mvn", "-q", "-B", "-f", str(pom), *goal])


def _sources(version: str) -> dict[str, str]:
    """Our Java sources as this version wants them: Kafka 4.3 moved its record classes.

    Programs for one version alone are in its folder.
    """
    texts = {}
    folder = INTEROP / "java"
    for path in (*(folder / name for name in SOURCES), *sorted((folder / version).glob("*.java"))):
        text = path.read_text()
        if version.startswith("kafka-3."):
            text = text.replace(".common.record.internal.", ".common.record.")
        texts[path.name] = text
    return texts


def _compile(jars: Jars, sources: dict[str, str], target: Path) -> None:
    folder = jars.folder / "sources"
    folder.mkdir(exist_ok=True)
    for name, text in sources.items():
        (folder / name).write_text(text)
    names = [str(folder / name) for name in sources]
    class_path = f"{jars.folder / 'jars'}/*"
    _run(["javac", "-nowarn", "-Xlint:none", "-cp", class_path, "-d", str(target), *names])


def _run(command: list[str]) -> None:
    try:
        subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=MAVEN_PATIENCE_S
        )
    except subprocess.CalledProcessError as error:
        message = f"{command[0]} failed: {error.stdout[-2000:]}{error.stderr[-2000:]}"
        raise MissingToolError(message) from error
    except subprocess.TimeoutExpired as error:
        message = f"{command[0]} did not end within {MAVEN_PATIENCE_S} s"
        raise MissingToolError(message) from error
