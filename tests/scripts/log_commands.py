"""Commands of the family `log`: life of one log from its creation to its recovery."""

from functools import partial
from typing import Final

from cordwood.core.ports import Lane
from cordwood.records.batch_builder import BatchFields
from cordwood.records.compression import Codec
from cordwood.records.record_checks import PlainInspector
from cordwood.storage.files.file_names import LOG
from cordwood.storage.log.append_job import AppendJob, PreparedRecords
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.storage.log.stepped_change import SteppedChange
from cordwood.testing.inline_worker import InlineWorker
from tests.scripts.log_under_test import (
    START_MS,
    LogUnderTest,
    appended,
    bounds_of,
    headers_in,
    since_start,
    sized_batch,
    span,
)
from tests.unit.storage.log_samples import DIRECTORY, follow, lead, offsets, read

_ISOLATIONS: Final = {
    "log_end": FetchIsolation.LOG_END,
    "read_uncommitted": FetchIsolation.HIGH_WATERMARK,
    "read_committed": FetchIsolation.TXN_COMMITTED,
}


class LogCommands(LogUnderTest):
    """A log, its segments and files, its retention, and its recovery."""

    def __init__(self) -> None:
        super().__init__()
        self._jobs = dict[str, AppendJob]()
        self._prepared = dict[str, PreparedRecords]()
        self._truncations = list[SteppedChange]()

    def append(
        self,
        *,
        size: int = 100,
        records: int = 1,
        timestamp: int = 0,
        leader_epoch: int = 0,
    ) -> str:
        """Append one batch as the leader; its records have one timestamp."""
        batch = sized_batch(size, records=records, timestamp=START_MS + timestamp)
        result = lead(self.log, batch, epoch=leader_epoch)
        self.log.epoch_file.save()
        return appended(result)

    def begin_append(
        self, name: str, *, size: int = 100, records: int = 1, timestamp: int = 0, at: int = 0
    ) -> str:
        """Begin an append under a name; its batch claims to begin at the offset `at`."""
        into = BatchFields(base_offset=at)
        batch = sized_batch(size, records=records, timestamp=START_MS + timestamp, into=into)
        job = self.log.begin_append(batch, inspector=PlainInspector())
        self._jobs[name] = job
        return "small" if job.is_small else "large"

    def run_append(self, name: str) -> str:
        """Run the job of an append, as a worker does."""
        self._prepared[name] = prepared = self._jobs.pop(name).run()
        assert prepared.header is not None
        stamped = "" if prepared.log_append_time_ms < 0 else ", with its append time"
        codec = Codec(prepared.header.codec_id).kafka_name
        return f"{prepared.header.record_count} records, codec {codec}{stamped}"

    def finish_append(self, name: str, *, leader_epoch: int = 0) -> str:
        """Write the result of a job."""
        prepared = self._prepared.pop(name)
        return appended(self.log.finish_append(prepared, leader_epoch=leader_epoch))

    def follow(self, offset: int, *, records: int = 1, leader_epoch: int = 0) -> str:
        """Append a batch of 100 bytes as a follower, at the offset that the leader assigned."""
        fields = BatchFields(base_offset=offset, partition_leader_epoch=leader_epoch)
        batch = sized_batch(100, records=records, into=fields)
        return appended(follow(self.log, batch, epoch=leader_epoch))

    def segments(self) -> str:
        """Print the segments: bytes, batches, and the largest timestamp."""
        return "\n".join(
            f"{each.base_offset}: {each.size} bytes, batches {self._batches(each.base_offset)}"
            + (f", largest timestamp {since_start(each.largest_timestamp())}" if each.size else "")
            for each in self.log.segments
        )

    def retention(self) -> str:
        """Run the retention pass."""
        plan = self.log.delete_old_segments()
        gone = [
            f"deleted {each.segment.base_offset}: {each.reason.value}" for each in plan.deletions
        ]
        return "\n".join((*gone, bounds_of(self.log)))

    def delete_records(self, offset: int) -> str:
        """Raise the log start, as DeleteRecords does; -1 stands for the high watermark."""
        self.log.delete_records(offset)
        return bounds_of(self.log)

    def truncate_fully(self, offset: int) -> str:
        """Remove every record; the log continues at the offset."""
        self.log.truncate_fully(offset)
        return bounds_of(self.log)

    def begin_truncation(self, offset: int) -> str:
        """Begin a truncation, whose jobs `job` runs."""
        change = self.log.begin_truncation(offset)
        self._truncations += [] if change is None else [change]
        return bounds_of(self.log)

    def job(self) -> str:
        """Run the next job of the truncation, as a worker does."""
        submit = partial(InlineWorker().submit, lane=Lane.FLUSH)
        return "done" if self._truncations[-1].advance(submit) is None else "a job"

    def lose_power(self) -> str:
        """Stop the machine: all that no job has synced is lost."""
        outcome = self.kill()
        self._harness.files.crash()
        return outcome

    def read(self, offset: int, *, isolation: str = "read_uncommitted") -> str:
        """Print the batches of a read."""
        found = read(self.log, offset, isolation=_ISOLATIONS[isolation])
        return " ".join(span(*each) for each in offsets(found)) or "empty"

    def leader_epochs(self) -> str:
        """Print the leader epoch cache."""
        entries = self.log.epochs.entries
        return "\n".join(f"epoch {e.epoch} from {e.start_offset}" for e in entries) or "empty"

    def flush(self) -> str:
        """Flush the log."""
        self.log.flush()
        return f"recovery point {self.log.bounds.recovery_point}"

    def cut(self, base_offset: int, *, size: int) -> str:
        """Cut bytes off the end of a log file, as a crash may."""
        path = f"{DIRECTORY}/{base_offset:020}{LOG}"
        file = self._harness.files.open(path, writable=True)
        file.truncate(file.size - size)
        return f"{file.size} bytes left"

    def damage(self, base_offset: int, *, position: int) -> None:
        """Change one byte of a log file."""
        file = self._harness.files.open(f"{DIRECTORY}/{base_offset:020}{LOG}", writable=True)
        (old,) = file.pread(1, position)
        file.pwrite(bytes((old ^ 0xFF,)), position)

    def _batches(self, base_offset: int) -> str:
        headers = headers_in(self._harness, base_offset)
        return " ".join(span(each.base_offset, each.last_offset) for each in headers) or "none"
