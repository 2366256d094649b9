"""Check of a batch header's max timestamp against the records of the batch.

Lookups by time, retention by time and the time index go by the header. Producers and brokers set it
to the largest timestamp of the records (CreateTime), and a cleaner does so for the records that
stay (Kafka: `MemoryRecords.filterTo`). The other batches have nothing to compare:

    LogAppendTime   the header is the time of all records, whatever they contain
    no records      a cleaner keeps the header of the batch that it has emptied
    v0, v1          a message has its own time; wrappers are not compared
"""

from typing import Final

from cordwood.records.batch_checks import CheckedBatch, CheckedBatches
from cordwood.workbench.verify.findings import VerifyFinding, damage

_FIELD: Final = {name: at for at, name in enumerate(CheckedBatch._fields)}


class TimestampCheck:
    """The check of one segment, range by range; all wrong batches are one finding."""

    __slots__ = ("_count", "_first", "_path", "_position")

    def __init__(self, path: str) -> None:
        self._path = path
        self._count = self._position = 0
        self._first: CheckedBatch | None = None

    def add(self, swept: CheckedBatches, start: int) -> None:
        """Check swept batches that begin at a position of the segment."""
        columns = swept.columns
        if columns[_FIELD["max_timestamp"]] == columns[_FIELD["records_max_timestamp"]]:
            return
        wrong = [each for each in swept.batches if each.max_timestamp != each.records_max_timestamp]
        self._count += len(wrong)
        if self._first is None:
            self._first, self._position = wrong[0], start + wrong[0].position

    def finish(self) -> list[VerifyFinding]:
        """Return the finding after the last batch, if there is one."""
        first = self._first
        if first is None:
            return []
        return [
            damage(
                self._path,
                "the max timestamp of a batch is not that of its records"
                + (f" (one of {self._count:,} batches)" if self._count > 1 else ""),
                remedy="read the records and produce them to another topic: lookups and retention "
                "by time go by the header",
                position=self._position,
                first_offset=first.base_offset,
                end_offset=first.last_offset + 1,
                expected=first.records_max_timestamp,
                found=first.max_timestamp,
            )
        ]
