"""Commands of the family `cleaner`: passes of the broker's cleaner over one small log.

The log is in a log directory with its checkpoint files, under a real log manager. A record is
`key:value`; `a:null` is a tombstone. The high watermark follows each append. `clean` lets the
cleaner check once, and runs the passes that are due; it does not clean at other times.
"""

from collections.abc import Iterator
from typing import Final

from cordwood.compaction.cleaner_config import CleanerConfig
from cordwood.compaction.cleaning_failures import CleaningFailure
from cordwood.compaction.cleaning_job import Verify
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.log_cleaner import CompletedPass, LogCleaner
from cordwood.compaction.passes.cleaning_pass import InlineRunner
from cordwood.compaction.plan.candidates import assess
from cordwood.compaction.plan.log_facts import read_log_facts
from cordwood.core.types import Offset
from cordwood.records.batch_builder import NO_FIELDS, BatchBuilder, BatchFields
from cordwood.records.batch_stream import AnyBatch, batches
from cordwood.records.control_records import EndTransaction, control_batch, read_control
from cordwood.records.record import Record
from cordwood.records.record_batch import RecordBatch
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.checkpoints.checkpoint_files import CLEANER_OFFSETS
from cordwood.storage.files.file_names import LOG, TXN_INDEX, segment_name
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import COMPACT, LogConfig
from cordwood.storage.manager.log_manager import ManagerSettings
from cordwood.storage.manager.log_startup import load_logs
from cordwood.storage.producers.producer_state_manager import ProducerStateManagerConfig
from cordwood.storage.segment.abstract_index import InMemoryEntries
from cordwood.storage.segment.transaction_index import ABORTED_TXN_SIZE, TransactionIndex
from cordwood.testing.inline_worker import InlineWorker
from tests.scripts.log_under_test import (
    appended,
    bounds_of,
    configured,
    since_start,
    span,
)
from tests.scripts.transcript import ScriptError
from tests.unit.storage.log_samples import lead
from tests.unit.storage.manager_samples import LogManagerHarness, create_logs, partition

COMPACTED: Final = LogConfig(
    cleanup_policy=frozenset({COMPACT}), segment_index_bytes=1200, index_interval_bytes=0
)
CLEANER: Final = CleanerConfig(
    dedupe_buffer_bytes=1 << 20, io_buffer_bytes=1 << 14, verify=Verify.ALWAYS
)
LOG_DIRECTORY: Final = "/a"


class CleanerCommands:
    """A compacted log, and the cleaner."""

    def __init__(self) -> None:
        self._house = LogManagerHarness(LOG_DIRECTORY, config=COMPACTED)
        self._manager = self._house.load()
        self._log: Log | None = None
        self._sequences: dict[int, int] = {}

    @property
    def log_(self) -> Log:
        """The log, after `create`."""
        if self._log is None:
            raise ScriptError("the log is not created")
        return self._log

    def create(self, **config: str) -> str:
        """Create the log with these topic configs; the cleanup policy is `compact`."""
        self._apply(configured(COMPACTED, config))
        (self._log,) = create_logs(self._manager, 0)
        return bounds_of(self.log_)

    def configure(self, **config: str) -> None:
        """Change topic configs, as AlterConfigs does."""
        self._apply(configured(self._house.config, config))
        self._manager.reconfigure(self.log_)

    def wait(self, time: int) -> str:
        """Advance the clock."""
        self._house.clock.advance(ms=time)
        return f"now {since_start(self._house.clock.now_ms())}"

    def append(
        self, *records: str, producer: int = -1, sequence: int = -1, transactional: bool = False
    ) -> str:
        """Append one batch; a producer's sequence continues unless it is given."""
        fields = NO_FIELDS
        if producer >= 0:
            first = self._sequences.get(producer, 0) if sequence < 0 else sequence
            self._sequences[producer] = max(self._sequences.get(producer, 0), first + len(records))
            fields = BatchFields(
                producer_id=producer,
                producer_epoch=0,
                base_sequence=first,
                is_transactional=transactional,
            )
        builder = BatchBuilder(fields)
        for key, _, value in (each.partition(":") for each in records):
            data = None if value == "null" else value.encode()
            builder.append(key.encode() or None, data, timestamp=self._house.clock.now_ms())
        return self._appended(builder.build(), AppendOrigin.CLIENT)

    def commit(self, producer: int) -> str:
        """Append a COMMIT marker."""
        return self._end(EndTransaction(True, 0), producer)  # noqa: FBT003 - a field

    def abort(self, producer: int) -> str:
        """Append an ABORT marker."""
        return self._end(EndTransaction(False, 0), producer)  # noqa: FBT003 - a field

    def roll(self) -> str:
        """Roll the active segment."""
        self.log_.roll()
        return f"active segment {self.log_.base_offsets[-1]}"

    def delete_records(self, offset: int) -> str:
        """Raise the log start, as DeleteRecords does."""
        self.log_.delete_records(offset)
        return bounds_of(self.log_)

    def restart(self) -> str:
        """Shut the log directory down cleanly, and load it again."""
        self._manager.close()
        return self._load()

    def crash(self) -> str:
        """Flush the log, lose everything that is not flushed, and load the log directory again."""
        self.log_.flush()
        self._house.files.crash()
        return self._load()

    def dirty(self) -> str:
        """Print what the cleaner finds: the dirty range, in bytes of whole segments."""
        facts = read_log_facts(self.log_, checkpoint=self.log_.bounds.cleaned_to)
        found = assess(facts, self._house.clock.now_ms())
        total = found.clean_bytes + found.cleanable_bytes
        return (
            f"dirty from {found.first_dirty.offset}, uncleanable from {found.first_uncleanable}\n"
            f"cleanable {found.cleanable_bytes} of {total} bytes, ratio {found.dirty_ratio:.2f}: "
            f"{'due' if found.is_due else 'not due'}"
        )

    def clean(self) -> str:
        """Let the cleaner check the log, and print its passes."""
        done, failed = list[CompletedPass](), list[CleaningFailure]()
        cleaner = LogCleaner(
            self._manager,
            CLEANER,
            runner=InlineRunner(self._house.files, PLAIN),
            worker=InlineWorker(),
            on_completed=done.append,
            on_failed=lambda _, failure: failed.append(failure),
        )
        cleaner.start()
        self._house.clock.advance(ms=0)
        cleaner.close()
        assert not failed, failed
        return "\n".join(map(_passed, done)) or "nothing is due"

    def checkpoint(self) -> str:
        """Print `cleaner-offset-checkpoint`: version, number of entries, entries."""
        return self._bytes_of(f"{LOG_DIRECTORY}/{CLEANER_OFFSETS}").decode().rstrip("\n") or "empty"

    def log(self) -> str:
        """Print the batches of each segment, and its transaction index."""
        return "\n".join(line for base in self.log_.base_offsets for line in self._segment(base))

    def _load(self) -> str:
        self._manager = self._house.open()
        self._apply(self._house.config)
        load_logs(self._manager)
        self._log = self._manager.logs[partition()]
        self.log_.set_high_watermark(self.log_.bounds.log_end)
        return bounds_of(self.log_)

    def _apply(self, config: LogConfig) -> None:
        self._house.config = config
        self._manager.settings = ManagerSettings(
            config_for=lambda _: config,
            producers=ProducerStateManagerConfig(is_verifying_transactions=False),
        )

    def _end(self, marker: EndTransaction, producer: int) -> str:
        fields = BatchFields(producer_id=producer, producer_epoch=0)
        data = control_batch(marker, fields, timestamp=self._house.clock.now_ms())
        return self._appended(data, AppendOrigin.COORDINATOR)

    def _appended(self, data: bytearray, origin: AppendOrigin) -> str:
        result = lead(self.log_, data, origin=origin)
        self.log_.set_high_watermark(self.log_.bounds.log_end)
        return appended(result)

    def _segment(self, base: int) -> Iterator[str]:
        data = self._bytes_of(self._path(base, LOG))
        active = ", active" if base == self.log_.base_offsets[-1] else ""
        yield f"segment {base}: {len(data)} bytes{active}"
        for batch in batches(data):
            yield f"  {span(batch.base_offset, batch.last_offset)}: {_described(batch)}"
        entries = InMemoryEntries(self._bytes_of(self._path(base, TXN_INDEX)), ABORTED_TXN_SIZE)
        for each in TransactionIndex(base, entries).read():
            offsets = span(each.first_offset, each.last_offset)
            yield f"  txnindex: producer {each.producer_id} aborted {offsets}"

    def _path(self, base: int, extension: str) -> str:
        return f"{self.log_.directory}/{segment_name(Offset(base), extension)}"

    def _bytes_of(self, path: str) -> bytes:
        files = self._house.files
        directory, _, name = path.rpartition("/")
        if name not in files.list(directory):
            return b""
        file = files.open(path)
        return file.pread(file.size, 0)


def _passed(done: CompletedPass) -> str:
    said = done.certificate
    counts = said.counts
    return (
        f"cleaned from {said.first_dirty} to {said.end}: "
        f"segments {said.segments_before} -> {said.segments_after}, "
        f"records {counts.records_read} -> {counts.records_kept}"
    )


def _described(batch: AnyBatch) -> str:
    assert isinstance(batch, RecordBatch), "the scripts append v2 batches"
    parts = [f"producer {batch.producer_id}"] if batch.has_producer_id else []
    records = list(batch.records())
    if batch.is_control and records:
        marker = read_control(records[0])
        assert isinstance(marker, EndTransaction)
        parts.append("COMMIT" if marker.is_commit else "ABORT")
    elif records:
        parts.append(" ".join(map(_record, records)))
    else:
        parts.append("empty")
    if batch.delete_horizon_ms is not None:
        parts.append(f"delete horizon {since_start(batch.delete_horizon_ms)}")
    return ", ".join(parts)


def _record(record: Record) -> str:
    value = "null" if record.value is None else record.value.decode()
    return f"{record.offset}={(record.key or b'').decode()}:{value}"
