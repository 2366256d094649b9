"""Our logs, asked as Kafka's are in `kafka_logs`: the same questions, the same answers."""

from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from cordwood.compaction.plan.candidates import LogFacts, assess
from cordwood.compaction.plan.log_facts import read_log_facts, source_segments
from cordwood.compaction.plan.segment_groups import group_segments
from cordwood.core.errors import KafkaError
from cordwood.core.ports import Ports
from cordwood.core.settings import SettingSource
from cordwood.core.system import SystemFiles
from cordwood.core.types import PartitionId, TimestampMs, TopicName, TopicPartition
from cordwood.records.record_checks import PlainInspector
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_append import NOTHING, AppendContext, AppendResult
from cordwood.storage.log.log_loader import LogPlace
from cordwood.storage.log_config import LogConfig
from cordwood.storage.producers.producer_state_manager import ProducerStateManagerConfig
from cordwood.storage.topic_settings import TOPIC_SETTINGS, config_from
from cordwood.testing.seeded_random import SeededRandom
from tests.interop.kafka_harness.kafka_logs import Answer, Choice
from tests.interop.kafka_harness.spec import Json


def config_of(texts: Mapping[str, str]) -> LogConfig:
    """A topic's settings, as Kafka would read them."""
    return config_from(TOPIC_SETTINGS.resolve([SettingSource("the test", texts)]))


class _KeptDeletions:
    """Files that are to be removed later stay."""

    def remove_later(self, paths: Iterable[str], *, delay_ms: int) -> None:
        """Forget them."""


class StandingClock:
    """A clock that is set with every question."""

    def __init__(self) -> None:
        self.ms = 0

    def now_ms(self) -> TimestampMs:
        return TimestampMs(self.ms)

    def monotonic_ms(self) -> float:
        return float(self.ms)


class OurLogs:
    """Logs by their directories."""

    def __init__(self) -> None:
        self._clock = StandingClock()
        self._logs: dict[Path, Log] = {}

    def ask(self, asked: str, directory: Path, question: dict[str, Json]) -> Answer:
        """Make one call."""
        self._clock.ms = cast("int", question["now_ms"])
        if asked == "open":
            self._logs[directory] = self._opened(directory, question)
        log = self._logs[directory]
        code, result = 0, NOTHING
        try:
            result = _act(log, asked, question) or NOTHING
        except KafkaError as error:
            code = error.code
        # A broker's worker does this behind each change.
        log.epoch_file.save()
        bounds = log.bounds
        return Answer(
            code,
            result.first_offset,
            result.last_offset,
            bounds.log_start,
            bounds.high_watermark,
            bounds.last_stable,
            bounds.log_end,
        )

    def choose(self, directory: Path, question: dict[str, Json]) -> Choice:
        """Return what we would clean of an open log."""
        numbers = cast("dict[str, int]", question)
        log, checkpoint = self._logs[directory], numbers["checkpoint"]
        facts = read_log_facts(log, checkpoint=None if checkpoint < 0 else checkpoint)
        found = assess(facts, numbers["now_ms"])
        # Kafka reports a log with a later first dirty offset as not cleanable.
        end = found.end if found.cleanable_bytes else _base_of(facts, found.first_dirty.offset)
        limits = replace(
            log.config,
            segment_bytes=numbers["segment_bytes"],
            segment_index_bytes=numbers["index_bytes"],
        )
        groups = group_segments(source_segments(log, end), limits)
        return Choice(
            found.first_dirty.offset,
            end,
            found.clean_bytes,
            found.cleanable_bytes,
            found.overdue_ms,
            [[segment.base_offset for segment in group] for group in groups],
        )

    def _opened(self, directory: Path, question: dict[str, Json]) -> Log:
        numbers = cast("dict[str, int]", question)
        place = LogPlace(
            partition=TopicPartition(TopicName("t"), PartitionId(0)),
            directory=str(directory),
            config=config_of(cast("dict[str, str]", question["config"])),
            is_clean=bool(question["is_clean"]),
            recovery_point=numbers["recovery_point"],
            log_start=numbers["log_start"],
            high_watermark=numbers["high_watermark"],
            producers=ProducerStateManagerConfig(is_verifying_transactions=False),
        )
        files = SystemFiles()
        ports = Ports(files=files, clock=self._clock, random=SeededRandom(1))
        return Log.open(place, ports, table=OpenFileCache(files, 8), deletions=_KeptDeletions())


def _base_of(facts: LogFacts, offset: int) -> int:
    """Return the base of the segment that an offset is in."""
    return max(each.base_offset for each in facts.segments if each.base_offset <= offset)


def _act(log: Log, asked: str, question: dict[str, Json]) -> AppendResult | None:
    numbers = cast("dict[str, int]", question)
    if asked == "lead":
        return log.append_as_leader(
            _bytes(question),
            leader_epoch=numbers["epoch"],
            inspector=PlainInspector(),
            context=AppendContext(
                AppendOrigin[str(question["origin"])],
                is_strict_on_markers=numbers["transactions"] == 2,
            ),
        )
    if asked == "follow":
        return log.append_as_follower(_bytes(question), leader_epoch=numbers["epoch"])
    _change(log, asked, numbers)
    return None


def _change(log: Log, asked: str, numbers: dict[str, int]) -> None:
    calls = {
        "open": lambda: None,
        "roll": log.roll,
        "see": lambda: log.set_high_watermark(numbers["offset"]),
        "delete_records": lambda: log.delete_records(numbers["offset"]),
        "delete_old": log.delete_old_segments,
        "truncate": lambda: log.truncate_to(numbers["offset"]),
        "truncate_fully": lambda: log.truncate_fully(numbers["offset"]),
        "flush": log.flush,
        "close": log.close,
        "abandon": log.forget_files,
    }
    calls[asked]()


def _bytes(question: dict[str, Json]) -> bytearray:
    return bytearray(b64decode(str(question["bytes"])))
