"""Kafka's log classes in one Java process: partitions are opened, read and closed one by one."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final, Self

from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.patience import PATIENCE_S

CONFIG: Final = {"segment.index.bytes": "1200", "index.interval.bytes": "0"}


class OpenedLogs:
    """The process."""

    def __init__(self, jars: Jars) -> None:
        self._process = subprocess.Popen(
            jars.command("OpenedLogs"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _pipe(self._process.stdin).close()
        self._process.wait(PATIENCE_S)
        _pipe(self._process.stdout).close()

    def look(self, directory: Path, times: Sequence[int], *, now_ms: int) -> dict[str, object]:
        """Return what Kafka reads from a partition's directory, and its lookups of some times."""
        question = {
            "directory": str(directory),
            "config": CONFIG,
            "times": list(times),
            "now_ms": now_ms,
        }
        stdin = _pipe(self._process.stdin)
        stdin.write(json.dumps(question).encode() + b"\n")
        stdin.flush()
        line = _pipe(self._process.stdout).readline()
        assert line, "Kafka's process has ended"
        answer: dict[str, object] = json.loads(line)
        return answer


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
