"""Kafka's dump tool, asked many times in one process, and ours in this one."""

import subprocess
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple

from cordwood.core.errors import CordwoodError
from cordwood.core.system import SystemFiles
from cordwood.records.record_checks import Inspector
from cordwood.records.record_lines import LineWriter
from cordwood.workbench.dump.dump_log_segments import dump
from cordwood.workbench.dump.dump_options import DumpOptions, DumpRun
from tests.interop.kafka_harness.jars import INTEROP, Jars
from tests.interop.kafka_harness.patience import PATIENCE_S

PROGRAM: Final = INTEROP / "java" / "Dumper.java"

#: Java's own warnings go to the standard output otherwise, where the answers are.
_WARNINGS: Final = ("-XX:+DisplayVMOutputToStderr", "-Xlog:all=warning:stderr")


class Dumped(NamedTuple):
    """The output of a dump on both streams, and whether it was truncated."""

    out: bytes
    err: bytes
    has_failed: bool


class Dumper:
    """One Java process that dumps files for us."""

    def __init__(self, jars: Jars, folder: Path) -> None:
        self._words = (folder / "dumper.txt").open("wb")
        command = jars.command("org.apache.kafka.tools.DumpLogSegments")
        command[-1] = str(PROGRAM)
        command[1:1] = _WARNINGS
        self._process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._words
        )

    def dump(self, *options: str, files: Sequence[Path]) -> Dumped:
        """Ask once; an index that is missing is made by Kafka's tool, and removed here."""
        folders = {path.parent for path in files}
        before = {each for folder in folders for each in folder.iterdir()}
        dumped = self._ask([*options, "--files", ",".join(map(str, files))])
        for made in {each for folder in folders for each in folder.iterdir()} - before:
            made.unlink()
        return dumped

    def _ask(self, arguments: Sequence[str]) -> Dumped:
        stdin = _pipe(self._process.stdin)
        stdin.write("\t".join(arguments).encode() + b"\n")
        stdin.flush()
        answer = _pipe(self._process.stdout).readline().split()
        assert len(answer) == 3, self._describe(answer)
        out, err, failure = answer
        return Dumped(b64decode(out[1:]), b64decode(err[1:]), failure != b"-")

    def _describe(self, answer: Sequence[bytes]) -> str:
        """Return the state of a process that gave something else than an answer."""
        words = Path(self._words.name).read_text()[-3000:]
        return f"the dumper gave {answer!r}, exit code {self._process.poll()}: {words}"

    def close(self) -> None:
        with self._words, _pipe(self._process.stdout):
            self._process.communicate(timeout=PATIENCE_S)


def our_dump(
    options: DumpOptions, paths: Sequence[str], *, writer: LineWriter, inspector: Inspector
) -> Dumped:
    """Return our dump's output."""
    tools = DumpRun(files=SystemFiles(), options=options, writer=writer, inspector=inspector)
    streams: tuple[list[bytes], list[bytes]] = ([], [])
    has_failed = False
    try:
        for text, is_error in dump(tools, paths):
            streams[is_error].append(text)
    except (CordwoodError, OSError):
        has_failed = True
    return Dumped(b"".join(streams[0]), b"".join(streams[1]), has_failed)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
