"""Our manager on a directory of real files, as a broker would have it, and what is in there."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from cordwood.core.ports import LoopPorts
from cordwood.core.system import SystemClock, SystemFiles, SystemRandom, ThreadWorker
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.records.batch_builder import BatchFields
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.records.record_checks import PlainInspector
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_append import AppendContext
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import log_creation
from cordwood.storage.manager.log_directories import DirectoryOwner, open_directories
from cordwood.storage.manager.log_manager import LogManager, ManagerOptions, ManagerSettings
from cordwood.storage.manager.log_startup import load_logs
from cordwood.storage.producers.producer_state_manager import ProducerStateManagerConfig
from cordwood.testing.virtual_clock import VirtualClock
from tests.interop.kafka_harness.ours import read_ours, write_ours
from tests.interop.kafka_harness.samples import NOON
from tests.interop.kafka_harness.spec import Spec, SpecRecord, without_sequences

SMALL: Final = LogConfig(
    segment_bytes=600_000, index_interval_bytes=300, message_timestamp_after_max_ms=2**62
)
_CHUNK: Final = 1 << 20


def partition_of(topic: str) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionId(0))


def open_manager(directory: Path, events: list[str], config: LogConfig = SMALL) -> LogManager:
    """Return all logs of a directory, loaded; `events` receives the operator's messages."""
    files = SystemFiles()
    owner = DirectoryOwner(random=SystemRandom(), on_event=events.append)
    ports = LoopPorts(
        files=files,
        clock=SystemClock(),
        random=SystemRandom(),
        scheduler=VirtualClock(),
        worker=ThreadWorker(2),
    )
    options = ManagerOptions(
        open_files=OpenFileCache(files, 50),
        call_soon=lambda call: call(),
        on_event=events.append,
    )
    producers = ProducerStateManagerConfig(is_verifying_transactions=False)
    settings = ManagerSettings(config_for=lambda _: config, producers=producers)
    manager = LogManager(
        open_directories(files, [str(directory)], owner=owner), ports, settings, options
    )
    load_logs(manager)
    return manager


@contextmanager
def managed(directory: Path) -> Iterator[LogManager]:
    """A manager that is closed in order, and must not report events."""
    events: list[str] = []
    manager = open_manager(directory, events)
    try:
        yield manager
    finally:
        manager.close()
        manager.ports.worker.close()
    assert not events


def made(manager: LogManager, topic: str, topic_id: Uuid) -> Log:
    """A new log of ours whose topic Kafka knows."""
    return log_creation.create(manager, partition_of(topic), topic_id=topic_id)


def lead(log: Log, data: bytes | bytearray, origin: AppendOrigin = AppendOrigin.CLIENT) -> int:
    """Append as a leader and let readers see it; return where it went."""
    result = log.append_as_leader(
        bytearray(data), leader_epoch=0, inspector=PlainInspector(), context=AppendContext(origin)
    )
    log.set_high_watermark(log.bounds.log_end)
    return result.first_offset


def lead_spec(log: Log, spec: Spec) -> tuple[SpecRecord, ...]:
    """Append a batch, and return its records where they are now."""
    first = lead(log, write_ours(spec))
    return tuple(replace(record, offset=first + at) for at, record in enumerate(spec.records))


def follow_spec(log: Log, spec: Spec) -> tuple[SpecRecord, ...]:
    """Append a batch as a follower, with the gaps between its offsets, and return its records."""
    by = log.bounds.log_end - spec.records[0].offset
    records = tuple(replace(record, offset=record.offset + by) for record in spec.records)
    moved = replace(spec, records=records, base_offset=records[0].offset, partition_leader_epoch=0)
    log.append_as_follower(write_ours(moved), leader_epoch=0)
    log.set_high_watermark(log.bounds.log_end)
    return records


def end_transaction(log: Log, producer_id: int, *, is_commit: bool) -> None:
    fields = BatchFields(producer_id=producer_id, producer_epoch=0)
    marker = EndTransaction(is_commit=is_commit, coordinator_epoch=0)
    lead(log, control_batch(marker, fields, timestamp=NOON), AppendOrigin.COORDINATOR)


def content(log: Log) -> tuple[SpecRecord, ...]:
    """All records that readers of everything see, batch by batch with checksums verified."""
    found: list[SpecRecord] = []
    offset = int(log.bounds.log_start)
    while offset < log.bounds.log_end:
        part = log.read(offset, max_bytes=_CHUNK, isolation=FetchIsolation.LOG_END, min_one=True)
        assert part.slice is not None
        batches = read_ours(part.slice.read())
        part.slice.release()
        records = [each for batch in batches if not batch.is_control for each in batch.records]
        found += [record for record in records if record.offset >= offset]
        offset = batches[-1].next_offset
    return without_sequences(found)
