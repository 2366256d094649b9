"""Kafka 4.3 opens what salvage, compact, convert and reindex leave of random logs, and reads it.

One Java process opens all directories. Kafka changes none of their files, and it has the bounds,
the records of both isolation levels, the aborted transactions and the lookups by time that our
reader has. `log_readings` has the exceptions. 50 logs, and 2,000 with CORDWOOD_SOAK=1.
"""

import os
from pathlib import Path
from shutil import rmtree
from typing import Final

import pytest

from cordwood.storage.checkpoints.clean_shutdown_file import CLEAN_SHUTDOWN
from cordwood.storage.files.atomic_write import directory_of
from tests.adversary.damages import DAMAGES
from tests.adversary.planned_batch import START_MS
from tests.adversary.random_logs import FEATURES, NAME
from tests.adversary.tool_results import FORMATS, SIDE_DAMAGES, ToolResult, ToolRuns, format_words
from tests.interop.kafka_harness.log_readings import (
    changes,
    differences,
    kafka_reading,
    our_reading,
    our_records,
)
from tests.interop.kafka_harness.opened_logs import OpenedLogs

SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"
LOGS: Final = 2_000 if SOAK else 50
TOOLS: Final = ("salvage", "compact", "convert", "reindex")
#: Lookups by time in each log, besides those before and behind all records.
MOST_TIMES: Final = 16

pytestmark = [pytest.mark.interop, pytest.mark.timeout(20_000 if SOAK else 600)]


def test_kafka_reads_what_the_tools_leave_as_our_reader_does(
    opened_logs: OpenedLogs, tmp_path: Path
) -> None:
    runs = ToolRuns()
    found = [
        f"log {seed}, {', '.join(result.words)}: {each}"
        for seed in range(LOGS)
        for result in runs.of(seed)
        for each in compared(opened_logs, result, tmp_path / "logs")
    ]

    wanted = {
        *TOOLS,
        "compact: a pass",
        "compact: nothing to do",
        "convert: refused",
        *(format_words(*each) for each in FORMATS),
        *(f"salvage: {kind}" for kind in DAMAGES),
        *(f"reindex: {kind}" for kind in SIDE_DAMAGES),
        *(f"{tool}: {feature}" for tool in TOOLS for feature in FEATURES),
    }
    assert not found, "\n".join(found)
    assert wanted - runs.counts.keys() == set()


def test_comparison_finds_a_transaction_index_that_is_gone(
    opened_logs: OpenedLogs, tmp_path: Path
) -> None:
    """Our reader takes the aborted transactions of such a segment from the log, Kafka has none."""
    runs = ToolRuns()
    results = (each for seed in range(LOGS) for each in runs.of(seed))
    result = next(each for each in results if _aborted_segments(each))

    result.files.remove(f"{directory_of(result.path)}/{_aborted_segments(result)[0]}")

    found = compared(opened_logs, result, tmp_path / "logs")
    assert any(each.startswith("committed: ") for each in found), found


def compared(kafka: OpenedLogs, result: ToolResult, folder: Path) -> list[str]:
    """Return what differs between our reader and Kafka, and the files that Kafka has changed."""
    ours = our_reading(result.files, result.path, _times(result))
    before = result.directory
    directory = _written(folder, before) / NAME
    answer = kafka.look(directory, _times(result), now_ms=START_MS)
    after = {path.name: path.read_bytes() for path in directory.iterdir()}
    rmtree(folder)
    wrong = [name for name in answer if name.startswith(("refused", "stopped"))]
    found = [f"{name}: {answer[name]}" for name in wrong]
    if "refused" not in answer:
        found += differences(ours, kafka_reading(answer))
    if CLEAN_SHUTDOWN not in before:
        found.append("Kafka recovers the log, since its directory was not stopped in order")
    if result.records is not None and ours.uncommitted != result.records:
        found.append("our reader has other records than the oracle")
    kept = {Path(name).name: data for name, data in before.items() if "/" in name}
    return found + list(changes(kept, after, log_start=ours.log_start))


def _times(result: ToolResult) -> list[int]:
    """Return times of some records, and before and behind all records."""
    records = our_records(result.files, result.path)
    known = sorted({each.timestamp for each in records if each.timestamp >= 0})
    some = known[:: max(1, len(known) // MOST_TIMES)]
    return [0, *(time + more for time in some for more in (0, 1)), START_MS * 2]


def _aborted_segments(result: ToolResult) -> list[str]:
    """Return the transaction indexes of closed segments."""
    names = sorted(result.directory)
    last = max(name for name in names if name.endswith(".log"))
    return [name for name in names if name.endswith(".txnindex") and name[:-9] < last[:-4]]


def _written(folder: Path, directory: dict[str, bytes]) -> Path:
    """Write a log directory to disk."""
    for name, data in directory.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder
