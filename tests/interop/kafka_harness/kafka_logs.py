"""Kafka's own logs, in one Java process: opened, appended to, cut and closed, call by call.

The clock of the process is the one that comes with each call.
"""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple, cast

from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.spec import Json

PROGRAM: Final = "KafkaLogs"

_CLEANER: Final[dict[str, Json]] = {"map_bytes": 1 << 20, "io_bytes": 1 << 20}


class Answer(NamedTuple):
    """The result of a call: Kafka's error code, the offsets of the records, and the bounds of the
    log.
    """

    code: int
    first_offset: int
    last_offset: int
    log_start: int
    high_watermark: int
    last_stable: int
    log_end: int


class KafkaPass(NamedTuple):
    """Kafka's decisions and results of a cleaning; `end` is the start of the next one."""

    first_dirty: int
    first_uncleanable: int
    clean_bytes: int
    cleanable_bytes: int
    end: int
    records_read: int = 0
    records_kept: int = 0
    unkeyed: int = 0
    bytes_read: int = 0
    bytes_kept: int = 0
    seconds: float = 0


class Choice(NamedTuple):
    """The range of a pass, and its segment groups by base offsets."""

    first_dirty: int
    first_uncleanable: int
    clean_bytes: int
    cleanable_bytes: int
    overdue_ms: int
    groups: list[list[int]]


class KafkaLogs:
    """The process; logs go by their directories."""

    def __init__(self, jars: Jars, folder: Path, options: Sequence[str] = ()) -> None:
        """Start it, with `options` of Java for measurements."""
        self.words = folder / "logs.txt"
        command = jars.command(PROGRAM)
        if options:
            command = ["java", *options, "-cp", jars.class_path, PROGRAM]
        with self.words.open("wb") as words:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words
            )

    def ask(self, asked: str, directory: Path, question: dict[str, Json]) -> Answer:
        """Make one call."""
        answer = self._answer(asked, directory, question)
        return Answer(*(answer.get(name, -1) for name in Answer._fields))

    def clean(self, directory: Path, question: dict[str, Json]) -> KafkaPass:
        """Clean an open log once, as far as Kafka would."""
        answer = self._answer("clean", directory, {**_CLEANER, **question})
        assert answer["code"] == 0, answer
        known = {name: answer[name] for name in KafkaPass._fields if name in answer}
        return KafkaPass(**known)

    def choose(self, directory: Path, question: dict[str, Json]) -> Choice:
        """Return what Kafka would clean of an open log."""
        answer = self._answer("choose", directory, {**_CLEANER, **question})
        assert answer["code"] == 0, answer
        return Choice(
            answer["first_dirty"],
            answer["first_uncleanable"],
            answer["clean_bytes"],
            answer["cleanable_bytes"],
            answer["overdue_ms"],
            cast("list[list[int]]", answer["groups"]),
        )

    def _answer(self, asked: str, directory: Path, question: dict[str, Json]) -> dict[str, int]:
        stdin = _pipe(self._process.stdin)
        whole = {"ask": asked, "directory": str(directory), **question}
        stdin.write(json.dumps(whole).encode() + b"\n")
        stdin.flush()
        line = _pipe(self._process.stdout).readline()
        assert line, self.words.read_text()[-2000:]
        answer: dict[str, int] = json.loads(line)
        assert "log_end" in answer, answer
        return answer

    @property
    def process_id(self) -> int:
        return self._process.pid

    def close(self) -> None:
        _pipe(self._process.stdin).close()
        self._process.wait(PATIENCE_S)
        _pipe(self._process.stdout).close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
