"""Differences of our cleaner's output from Kafka's, as `docs/formats/compaction.md` lists them."""

import shutil
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_stream import batches
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.records.legacy_builder import LegacyBuilder
from cordwood.records.record_batch import RecordBatch
from cordwood.workbench.compact import CompactReport
from tests.interop.kafka_harness import our_cleaning
from tests.interop.kafka_harness.cleaned_logs import differences, segments_of
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.kafka_logs import KafkaLogs, KafkaPass
from tests.interop.kafka_harness.log_runs import START_MS
from tests.interop.kafka_harness.spec import Json

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

CONFIG: Final = {
    "cleanup.policy": "compact",
    "message.timestamp.after.max.ms": "9223372036854775807",
}
NOW: Final[dict[str, Json]] = {"now_ms": START_MS}


class Log:
    """One segment of these batches and a record behind it, in a directory for either cleaner."""

    def __init__(self, kafka_logs: KafkaLogs, folder: Path, *sets: bytes) -> None:
        self.theirs, self.ours = (folder / side / "t-0" for side in ("theirs", "ours"))
        self.theirs.parent.mkdir()
        self._kafka_logs = kafka_logs
        self._open(log_end=0)
        end = 0
        for data in sets:
            end = self._ask("follow", bytes=b64encode(data).decode())
        self._ask("roll")
        self.end = self._ask("follow", bytes=b64encode(batch(end, b"z")).decode())
        self._ask("close")
        shutil.copytree(self.theirs, self.ours)

    def clean_theirs(self, *, log_start: int = 0, map_bytes: int = 1 << 20) -> KafkaPass:
        """Let Kafka clean its log."""
        self._open(log_start=log_start, log_end=self.end)
        question: dict[str, Json] = {"checkpoint": -1, "map_bytes": map_bytes}
        done = self._kafka_logs.clean(self.theirs, question | NOW)
        self._ask("close")
        return done

    def clean_ours(self, *, log_start: int = 0) -> CompactReport:
        """Clean our log."""
        bounds = {"log_start": log_start, "high_watermark": self.end, "recovery_point": self.end}
        our_cleaning.place_beside(self.ours, bounds=bounds, cleaned_to=-1)
        return our_cleaning.clean(self.ours, CONFIG, now_ms=START_MS, engine=PLAIN)

    def _open(self, *, log_start: int = 0, log_end: int) -> None:
        bounds = {"log_start": log_start, "high_watermark": log_end, "recovery_point": log_end}
        self._ask("open", config=dict(CONFIG), is_clean=True, **bounds)

    def _ask(self, asked: str, **question: Json) -> int:
        answer = self._kafka_logs.ask(asked, self.theirs, question | NOW)
        assert answer.code == 0, (asked, self._kafka_logs.words.read_text()[-2000:])
        return answer.log_end


@pytest.fixture(scope="module")
def kafka_logs(kafka43_jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaLogs]:
    started = KafkaLogs(kafka43_jars, tmp_path_factory.mktemp("kafka-logs"))
    yield started
    started.close()


def batch(at: int, *keys: bytes, producer: int = -1) -> bytes:
    """Return a batch of a record for each key, a second apart."""
    builder = BatchBuilder(
        BatchFields(
            base_offset=at,
            partition_leader_epoch=0,
            producer_id=producer,
            producer_epoch=-1 if producer < 0 else 0,
            base_sequence=-1 if producer < 0 else at,
            is_transactional=producer >= 0,
        )
    )
    for step, key in enumerate(keys):
        builder.append(key, b"value", timestamp=START_MS + 1000 * step)
    return bytes(builder.build())


def marker(at: int, producer: int, *, is_commit: bool) -> bytes:
    fields = BatchFields(
        base_offset=at, partition_leader_epoch=0, producer_id=producer, producer_epoch=0
    )
    end = EndTransaction(is_commit, coordinator_epoch=0)
    return bytes(control_batch(end, fields, timestamp=START_MS))


def base_timestamps(directory: Path) -> list[int]:
    found = batches((directory / f"{0:020}.log").read_bytes())
    return [each.base_timestamp for each in found if isinstance(each, RecordBatch)]


def test_base_timestamp_is_kept_when_its_record_is_removed(
    kafka_logs: KafkaLogs, tmp_path: Path
) -> None:
    """So the other records' bytes stay too; Kafka writes them again."""
    log = Log(kafka_logs, tmp_path, batch(0, b"a", b"b"), batch(2, b"a"))

    log.clean_theirs()
    log.clean_ours()

    assert base_timestamps(log.ours) == [START_MS, START_MS]
    assert base_timestamps(log.theirs) == [START_MS + 1000, START_MS]
    assert not list(differences(log.ours, log.theirs, log_start=0))


def test_all_keys_are_cleaned_in_one_pass_with_little_memory(
    kafka_logs: KafkaLogs, tmp_path: Path
) -> None:
    """Kafka's map of eight places holds seven keys, and the pass ends there."""
    log = Log(kafka_logs, tmp_path, *(batch(at, b"key-%d" % at) for at in range(20)))

    theirs = log.clean_theirs(map_bytes=8 * 24)
    ours = log.clean_ours()

    assert (theirs.end, ours.end) == (7, 20)


def test_empty_batch_is_left_of_an_old_format_where_kafka_fails(
    kafka_logs: KafkaLogs, tmp_path: Path
) -> None:
    """The last one of a pass stays, if need be without a record: Kafka gives the log up."""
    unkeyed = LegacyBuilder(1, base_offset=1)
    unkeyed.append(None, b"value", timestamp=START_MS)
    log = Log(kafka_logs, tmp_path, batch(0, b"a"), bytes(unkeyed.build()))

    with pytest.raises(AssertionError, match="Empty batches are only supported for magic v2"):
        log.clean_theirs()
    log.clean_ours()

    last = list(segments_of(log.ours, log_start=0)[0].batches.values())[-1]
    assert (last.base_offset, last.last_offset, last.count) == (1, 1, 0)


def test_aborted_data_below_the_log_start_is_recognized(
    kafka_logs: KafkaLogs, tmp_path: Path
) -> None:
    """Kafka takes it for committed, and a later marker of the producer for its end."""
    log = Log(
        kafka_logs,
        tmp_path,
        *(batch(0, b"a", producer=7), marker(1, 7, is_commit=False)),
        *(marker(2, 7, is_commit=True), batch(3, b"b")),
    )

    log.clean_theirs(log_start=2)
    log.clean_ours(log_start=2)

    ours, theirs = (segments_of(each, log_start=2)[0] for each in (log.ours, log.theirs))
    assert theirs.batches[2].delete_horizon_ms is None
    assert ours.batches[2].delete_horizon_ms == START_MS + 86_400_000
