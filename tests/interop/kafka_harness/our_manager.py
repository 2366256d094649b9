"""Our manager on a directory of real files, as a broker would have it, and what is in there."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from cordwood.core.ids import Uuid
from cordwood.core.system import SystemClock, SystemFiles, SystemRandom, ThreadWorker
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.builder import BatchFields
from cordwood.records.control import EndTransaction, control_batch
from cordwood.records.inspect import PlainInspector
from cordwood.storage.appending import Sender
from cordwood.storage.directories import Owner, open_directories
from cordwood.storage.file_table import FileTable
from cordwood.storage.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import LogManager
from cordwood.storage.origin import Origin
from cordwood.storage.producers import ProducerSettings
from cordwood.storage.reading import Isolation
from cordwood.storage.stock import ManagerSettings, ManagerTools
from cordwood.testing.clock import VirtualClock
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
    """All logs of a directory, loaded; `events` hears what an operator would."""
    files = SystemFiles()
    owner = Owner(random=SystemRandom(), on_event=events.append)
    tools = ManagerTools(
        files=files,
        clock=SystemClock(),
        scheduler=VirtualClock(),
        worker=ThreadWorker(2),
        random=SystemRandom(),
        table=FileTable(files, 50),
        call_soon=lambda call: call(),
        on_event=events.append,
    )
    producers = ProducerSettings(is_verifying_transactions=False)
    settings = ManagerSettings(config_for=lambda _: config, producers=producers)
    manager = LogManager(open_directories(files, [str(directory)], owner=owner), tools, settings)
    manager.load()
    return manager


@contextmanager
def managed(directory: Path) -> Iterator[LogManager]:
    """A manager that is closed in order, and has nothing to tell."""
    events: list[str] = []
    manager = open_manager(directory, events)
    try:
        yield manager
    finally:
        manager.close()
        manager.tools.worker.close()
    assert not events


def made(manager: LogManager, topic: str, topic_id: Uuid) -> Log:
    """A new log of ours whose topic Kafka knows."""
    return manager.create(partition_of(topic), topic_id=topic_id)


def lead(log: Log, data: bytes | bytearray, origin: Origin = Origin.CLIENT) -> int:
    """Append as a leader and let readers see it; return where it went."""
    result = log.append_as_leader(
        bytearray(data), leader_epoch=0, inspector=PlainInspector(), sender=Sender(origin)
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
    lead(log, control_batch(marker, fields, timestamp=NOON), Origin.COORDINATOR)


def content(log: Log) -> tuple[SpecRecord, ...]:
    """All records that readers of everything see, batch by batch with checksums verified."""
    found: list[SpecRecord] = []
    offset = int(log.bounds.log_start)
    while offset < log.bounds.log_end:
        part = log.read(offset, max_bytes=_CHUNK, isolation=Isolation.LOG_END, min_one=True)
        assert part.slice is not None
        batches = read_ours(part.slice.read())
        part.slice.release()
        records = [each for batch in batches if not batch.is_control for each in batch.records]
        found += [record for record in records if record.offset >= offset]
        offset = batches[-1].next_offset
    return without_sequences(found)
