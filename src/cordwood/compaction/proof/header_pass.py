"""Pass over the headers of the log, from its first one on, to find the aborted transactions."""

from collections.abc import Sequence
from functools import partial

from cordwood.compaction.proof.batch_reader import SegmentFile
from cordwood.compaction.proof.transaction_outcomes import TransactionOutcomes, marker_of
from cordwood.compaction.proof.violations import Violation, Violations
from cordwood.core.errors import BadRecordsError
from cordwood.core.ports import SegmentSource
from cordwood.core.types import Offset
from cordwood.records.batch_header import BatchHeader
from cordwood.records.control_records import ControlType
from cordwood.records.record_batch import RecordBatch
from cordwood.storage.files.file_names import LOG, parse_segment_name, segment_name
from cordwood.storage.files.header_scan import Pread, headers


class HeaderPass:
    """A reader of the original headers, and of later ones while transactions are ongoing."""

    __slots__ = ("_source", "_violations", "told")

    def __init__(self, source: SegmentSource, *, violations: Violations) -> None:
        self.told = TransactionOutcomes()
        self._source = source
        self._violations = violations

    def read(self, files: Sequence[SegmentFile]) -> None:
        """Read the segments of the pass."""
        for file in files:
            pread = partial(self._source.read, file.name)
            try:
                for header in headers(pread, 0, file.size):
                    self.told.see(header, partial(_marker, pread, header))
            except BadRecordsError as error:
                self._violations.add(Violation(f"a batch was damaged: {error}", file.name))

    def read_beyond(self, end: int, *, log_start: int = 0) -> None:
        """Read on after the end, until all transactions with data below it are completed.

        An open transaction limits a pass only from the log start on: the last stable offset is not
        below it, and no reader gets earlier data.
        """
        for base in _bases_from(self._source, end):
            if not self.told.undecided:
                return
            name = segment_name(Offset(base), LOG)
            pread = partial(self._source.read, name)
            for header in headers(pread, 0, self._source.stat(name).size):
                self.told.see_beyond(header, partial(_marker, pread, header))
        for offset in self.told.undecided if end > log_start else ():
            what = "data of a transaction that is open lie below the end"
            self._violations.add(Violation(what, segment_name(Offset(end), LOG), offset))


def _marker(pread: Pread, header: BatchHeader) -> ControlType:
    return marker_of(RecordBatch(pread(header.size, header.position)))


def _bases_from(source: SegmentSource, end: int) -> list[int]:
    """Return the bases of the segments that the pass does not touch."""
    parsed = [name for name in map(parse_segment_name, source.list()) if name is not None]
    logs = [name for name in parsed if name.extension == LOG and not name.suffix]
    return sorted(name.base_offset for name in logs if name.base_offset >= end)
