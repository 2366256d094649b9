"""The last stable offset behind each log start: Kafka 4.3, our broker and our reader agree on it.

Kafka removes the snapshots at or below the log start when it opens a log. Its own offset may be
below a log start that is inside of a batch; consumers get the log start then.
"""

from pathlib import Path

import pytest

from cordwood.storage.reader.partition_reader import PartitionCheckpoints
from cordwood.storage.reader.transaction_reader import TransactionReader
from tests.damage.kinds import DamagedLog
from tests.damage.outcomes import written
from tests.interop.kafka_harness.opened_logs import OpenedLogs
from tests.unit.storage.log_samples import DIRECTORY, NOW, LogHarness
from tests.unit.storage.reader import test_transaction_reader as sample
from tests.unit.storage.reader_samples import got, reader

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

LOG_END = 18


def test_last_stable_offset_of_each_log_start_is_that_of_kafka(
    opened_logs: OpenedLogs, tmp_path: Path
) -> None:
    found = [_offsets(opened_logs, tmp_path / str(start), start) for start in range(LOG_END + 1)]

    expected = (*([10] * 11), 11, 12, *([LOG_END] * 6))
    assert found == [(each, each, each) for each in expected]


def _offsets(kafka: OpenedLogs, folder: Path, log_start: int) -> tuple[int, int, int]:
    """Return Kafka's last stable offset, and those of our broker and our reader."""
    files = sample.written()
    places = {
        "recovery-point-offset-checkpoint": LOG_END,
        "log-start-offset-checkpoint": log_start,
    }
    beside = {name: f"0\n1\nt 0 {offset}\n".encode() for name, offset in places.items()}
    beside[".kafka_cleanshutdown"] = b'{"version":0,"brokerEpoch":-1}'
    contents = {name: got(files, name) for name in files.list(DIRECTORY)}
    damaged = DamagedLog(contents, beside, "delete", {})
    answer = kafka.look(written(folder, damaged), [], now_ms=NOW)
    theirs = answer["last_stable"]
    assert isinstance(theirs, int)

    transactions = TransactionReader(reader(files, PartitionCheckpoints(log_start=log_start)))
    by_reader = transactions.last_stable_offset()
    broker = LogHarness()
    broker.files = files
    log = broker.open(sample.CONFIG, recovery_point=LOG_END, log_start=log_start)
    log.set_high_watermark(LOG_END)
    by_broker = max(log.bounds.last_stable, log_start)
    return max(theirs, log_start), by_broker, by_reader
