"""Kafka's log classes on damaged partitions, in one Java process: opened once each, and read."""

import json
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final, Self

from tests.damage.healthy_logs import HEALTHY, HealthyLog
from tests.damage.kinds import DamagedLog, Kind
from tests.damage.outcomes import records_of, written
from tests.interop.kafka_harness.jars import INTEROP, Jars
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.unit.storage.log_samples import NOW

PROGRAM: Final = INTEROP / "java" / "DamagedLogs.java"
CONFIG: Final = {"segment.index.bytes": "1200", "index.interval.bytes": "0"}


class DamagedLogs:
    """The process, and its answers about healthy logs."""

    def __init__(self, jars: Jars) -> None:
        command = jars.command("org.apache.kafka.storage.internals.log.UnifiedLog")
        command[-1] = str(PROGRAM)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._healthy = cache(self._answer_healthy)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _pipe(self._process.stdin).close()
        self._process.wait(PATIENCE_S)
        _pipe(self._process.stdout).close()

    def answer(self, kind: Kind, folder: Path) -> dict[str, object]:
        """Return Kafka's answer about a damaged log, and of the healthy one what is compared."""
        healthy, damaged = kind.apply()
        expected = self._healthy(kind.log)
        answer = self._ask(written(folder, damaged), _times(healthy))
        offsets = [each[0] for each in _rows(expected["committed"])]
        return {**answer, "healthy_committed": offsets, "healthy_times": expected["times"]}

    def _answer_healthy(self, name: str) -> dict[str, object]:
        healthy = HEALTHY[name]()
        whole = DamagedLog(dict(healthy.files), dict(healthy.beside), healthy.policy, {})
        with TemporaryDirectory() as folder:
            return self._ask(written(Path(folder), whole), _times(healthy))

    def _ask(self, directory: Path, times: list[int]) -> dict[str, object]:
        question = {"directory": str(directory), "config": CONFIG, "times": times}
        stdin = _pipe(self._process.stdin)
        stdin.write(json.dumps(question).encode() + b"\n")
        stdin.flush()
        line = _pipe(self._process.stdout).readline()
        assert line, "Kafka's process has ended"
        answer: dict[str, object] = json.loads(line)
        return answer


def _times(healthy: HealthyLog) -> list[int]:
    """Return the times to look up: those of all records, and later ones."""
    last = max((each.offset for each in records_of(healthy.files)), default=0)
    return [NOW + 10 * offset for offset in range(last + 2)]


def _rows(value: object) -> list[list[object]]:
    assert isinstance(value, list)
    return value


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
