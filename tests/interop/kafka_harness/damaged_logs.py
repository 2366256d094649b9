"""Kafka's answers about the damaged partitions of the page of damage, and the healthy ones."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from tests.damage.healthy_logs import HEALTHY, HealthyLog
from tests.damage.kinds import DamagedLog, Kind
from tests.damage.outcomes import records_of, written
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.opened_logs import OpenedLogs
from tests.unit.storage.log_samples import NOW


class DamagedLogs:
    """Damaged logs before Kafka's log classes."""

    def __init__(self, jars: Jars) -> None:
        self._opened = OpenedLogs(jars)
        self._healthy = cache(self._answer_healthy)

    def __enter__(self) -> Self:
        self._opened.__enter__()
        return self

    def __exit__(self, *exit_arguments: object) -> None:
        self._opened.__exit__(*exit_arguments)

    def answer(self, kind: Kind, folder: Path) -> dict[str, object]:
        """Return Kafka's answer about a damaged log, and of the healthy one what is compared."""
        healthy, damaged = kind.apply()
        expected = self._healthy(kind.log)
        answer = self._look(written(folder, damaged), healthy)
        offsets = [each[0] for each in _rows(expected["committed"])]
        return {**answer, "healthy_committed": offsets, "healthy_times": expected["times"]}

    def _answer_healthy(self, name: str) -> dict[str, object]:
        healthy = HEALTHY[name]()
        whole = DamagedLog(dict(healthy.files), dict(healthy.beside), healthy.policy, {})
        with TemporaryDirectory() as folder:
            return self._look(written(Path(folder), whole), healthy)

    def _look(self, directory: Path, healthy: HealthyLog) -> dict[str, object]:
        """Return the answer, with the offset, the key and the value of each record alone."""
        answer = self._opened.look(directory, _times(healthy), now_ms=NOW)
        for name in ("uncommitted", "committed"):
            if name in answer:
                answer[name] = [
                    [offset, key or "", value or ""]
                    for offset, _, key, value, _ in _rows(answer[name])
                ]
        if "times" in answer:
            answer["times"] = [each and each[1] for each in _rows(answer["times"])]
        return answer


def _times(healthy: HealthyLog) -> list[int]:
    """Return the times to look up: those of all records, and later ones."""
    last = max((each.offset for each in records_of(healthy.files)), default=0)
    return [NOW + 10 * offset for offset in range(last + 2)]


def _rows(value: object) -> list[list[object]]:
    assert isinstance(value, list)
    return value
