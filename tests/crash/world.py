"""A broker's logs in files that can crash, driven by calls that keep the accounts.

Everything that blocks runs at once and on this thread, so that the power goes out at every write
point there is, flushes and removals included.
"""

import errno
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from cordwood.compaction.cleaner_config import CleanerConfig
from cordwood.compaction.cleaning_failures import CleaningFailure
from cordwood.compaction.cleaning_job import CleaningJob, CleaningResult, PassControl, Verify
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.log_cleaner import LogCleaner
from cordwood.compaction.passes.cleaning_pass import InlineRunner
from cordwood.core.ports import LoopPorts
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_stream import batches
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.records.record_checks import PlainInspector
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.checkpoints.checkpoint_files import (
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
)
from cordwood.storage.files.atomic_write import read_whole
from cordwood.storage.files.file_names import CLEANED, LOG
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_append import AppendContext
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.storage.log_config import COMPACT, LogConfig
from cordwood.storage.manager import log_creation, log_renames
from cordwood.storage.manager.log_changes import apply_retention, prepare_append
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.storage.manager.log_manager import LogManager, ManagerOptions, ManagerSettings
from cordwood.storage.manager.log_startup import load_logs
from cordwood.storage.producers.producer_state_manager import ProducerStateManagerConfig
from cordwood.storage.segment.segment_files import SegmentPath
from cordwood.testing.file_faults import FileFault
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from tests.crash.ledger import Batch, Ledger

DIRECTORIES: Final = ("/logs/a", "/logs/b")
CONFIG: Final = LogConfig(
    segment_bytes=600, segment_index_bytes=240, index_interval_bytes=150, retention_ms=1000
)
TOPIC_ID: Final = bytes(range(1, 17))


def orders(number: int) -> TopicPartition:
    return TopicPartition(TopicName("orders"), PartitionId(number))


class World:
    """Logs, a clock and a ledger over one file system."""

    def __init__(self, files: MemoryFiles, ledger: Ledger) -> None:
        self.files = files
        self.clock = files.clock
        self.ledger = ledger
        self.told: list[object] = []
        self.manager = self._managed()

    def _managed(self) -> LogManager:
        ports = LoopPorts(
            files=self.files,
            clock=self.clock,
            random=SeededRandom(1),
            scheduler=self.clock,
            worker=InlineWorker(),
        )
        options = ManagerOptions(
            open_files=OpenFileCache(self.files, 6),
            call_soon=lambda call: call(),
            on_event=self.told.append,
        )
        settings = ManagerSettings(
            config_for=lambda _: CONFIG,
            producers=ProducerStateManagerConfig(is_verifying_transactions=False),
        )
        directories = [LogDirectory.open(self.files, path) for path in DIRECTORIES]
        manager = LogManager(directories, ports, settings, options)
        load_logs(manager)
        return manager

    def log(self, number: int) -> Log:
        return log_creation.create(self.manager, orders(number), topic_id=None)

    # -- calls that keep the accounts

    def append(self, number: int, count: int = 2, *, epoch: int = 0, first_key: int = 0) -> None:
        """Append a batch without a producer."""
        self._append(number, _records(count, BatchFields(), first_key=first_key), epoch=epoch)

    def append_of(self, number: int, producer_id: int, sequence: int) -> None:
        """Append a record to a producer's transaction."""
        fields = BatchFields(
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=True,
        )
        self._append(number, _records(1, fields))

    def end(self, number: int, producer_id: int, *, is_commit: bool) -> None:
        """Append a marker."""
        fields = BatchFields(producer_id=producer_id, producer_epoch=0)
        data = control_batch(EndTransaction(is_commit, 0), fields, timestamp=1)
        self._append(number, data, origin=AppendOrigin.COORDINATOR)

    def _append(
        self,
        number: int,
        data: bytearray,
        *,
        epoch: int = 0,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> None:
        log, partition = self.log(number), orders(number)
        base = log.bounds.log_end
        batch = (base, _as_written(data, base, epoch))
        self.ledger.will_append(partition, batch)
        prepared = log.begin_append(data, inspector=PlainInspector(), origin=origin).run()
        while (change := prepare_append(self.manager, log, prepared=prepared)) is not None:
            change.result()
        log.finish_append(
            prepared, leader_epoch=epoch, context=AppendContext(origin), has_files=True
        )
        self.ledger.appended(partition, batch)
        log.set_high_watermark(log.bounds.log_end)

    def refuse(self, number: int, at: int) -> None:
        """Run out of space in the middle of a batch that a leader has sent from behind a gap."""
        log = self.log(number)
        self.files.script.add(FileFault(on="pwrite", path="*.log", code=errno.ENOSPC, kept=40))
        with suppress(OSError):
            log.append_as_follower(_as_written(_records(2, BatchFields()), at, 0), leader_epoch=0)

    def flush(self, number: int) -> None:
        self.log(number).flush()
        self.ledger.flushed(orders(number))

    def truncate(self, number: int, offset: int) -> None:
        self.ledger.will_truncate(orders(number), offset)
        self.log(number).truncate_to(offset)

    def delete_records(self, number: int, offset: int) -> None:
        self.ledger.will_start_at(orders(number), offset)
        self.log(number).delete_records(offset)

    def expire(self, number: int) -> None:
        """Run retention, which deletes all records after two seconds."""
        self.clock.advance(seconds=2)
        log = self.log(number)
        self.ledger.will_start_at(orders(number), log.bounds.log_end)
        apply_retention(self.manager, log).result()

    def clean(self, number: int) -> None:
        """Let the cleaner have its turn with a log."""
        log, partition = self.log(number), orders(number)
        log.configure(replace(CONFIG, cleanup_policy=frozenset({COMPACT})))
        runner = _Watched(self, InlineRunner(self.files, PLAIN))
        cleaner = LogCleaner(
            self.manager,
            CleanerConfig(verify=Verify.NEVER),
            runner=runner,
            worker=InlineWorker(),
            on_completed=self.told.append,
            on_failed=_refuse_failure,
        )
        cleaner.start()
        self.clock.advance(ms=0)
        cleaner.close()
        self.ledger.cleaned(partition, runner.left, end=runner.end)
        log.configure(CONFIG)

    def delete(self, number: int) -> None:
        self.ledger.will_delete(orders(number))
        log_renames.delete(self.manager, orders(number))

    def checkpoint(self) -> None:
        self.manager.checkpoints.write_all(RECOVERY_POINTS)
        self.manager.checkpoints.write_all(LOG_START_OFFSETS)
        self.manager.checkpoints.write_all(HIGH_WATERMARKS)

    def let_removals_pass(self) -> None:
        self.clock.advance(seconds=70)

    def stop(self) -> None:
        """Stop in order; everything is promised then."""
        self.manager.close()
        for partition in list(self.ledger.present):
            self.ledger.flushed(partition)

    def restart(self) -> None:
        self.stop()
        self.manager = self._managed()


class _Watched:
    """A runner whose passes are written into the ledger before they are swapped in."""

    def __init__(self, world: World, runner: InlineRunner) -> None:
        self._world = world
        self._runner = runner
        self.left: list[Batch] = []
        self.end = 0

    def run(self, job: CleaningJob, control: PassControl) -> CleaningResult:
        cleaning = self._runner.run(job, control)
        for group in cleaning.groups:
            for segment in group.cleaned:
                path = SegmentPath(job.directory, segment.base_offset, CLEANED).of(LOG)
                data = read_whole(self._world.files, path)
                self.left += [
                    (batch.base_offset, data[batch.position : batch.end]) for batch in batches(data)
                ]
        self.end = cleaning.end
        self._world.ledger.will_clean(job.plan.partition, self.left, end=self.end)
        return cleaning

    def limit(self, bytes_per_second: float) -> None:
        """Never wait."""

    def close(self) -> None:
        """Release nothing."""


def _refuse_failure(partition: TopicPartition, failure: CleaningFailure) -> None:
    raise AssertionError(f"{partition} could not be cleaned: {failure.reason}")


def batches_of(log: Log) -> list[tuple[int, bytes]]:
    """Return every batch of a log, read as a follower reads."""
    found: list[tuple[int, bytes]] = []
    offset: int = log.bounds.log_start
    while offset < log.bounds.log_end:
        part = log.read(offset, max_bytes=1, isolation=FetchIsolation.LOG_END, min_one=True)
        if part.slice is None:
            break
        data = bytes(part.slice.read())
        part.slice.release()
        found.append((part.base_offset, data))
        offset = part.base_offset + int.from_bytes(data[23:27]) + 1
    return found


Workload = Callable[[World], object]


def _records(count: int, fields: BatchFields, *, first_key: int = 0) -> bytearray:
    builder = BatchBuilder(fields)
    for number in range(count):
        builder.append(
            b"key-%d" % (first_key + number), b"a value of some length", timestamp=1 + number
        )
    return builder.build()


def _as_written(data: bytearray, base_offset: int, epoch: int) -> bytes:
    """Return a batch as the leader writes it: two fields before the checksum are its own."""
    return base_offset.to_bytes(8) + data[8:12] + epoch.to_bytes(4, signed=True) + data[16:]
