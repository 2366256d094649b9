"""Report of a salvage: salvaged, lost, doubtful and repaired offsets.

Every offset between the start and the end of the log is in a salvaged batch, or in `lost` or
`gaps`. Next to damage or a missing file, offsets that compaction removed look like lost ones, so
`lost` is an upper bound.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from cordwood.workbench.number_ranges import consecutive_ranges
from cordwood.workbench.salvage.batch_chain import SalvagedBatch
from cordwood.workbench.salvage.batch_scan import DamagedRange

MISSING = "in no file"


class ReportedOffsets(NamedTuple):
    """A range of offsets, both ends included, and the reason why it is reported.

    If `last` is None, the end of the range is unknown.
    """

    first: int
    last: int | None
    why: str
    file: str = ""
    position: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvageReport:
    """The new log, and every difference from the original one.

    `gaps` are offsets in no batch, without damage nearby, that a cleaner has removed. Offsets in no
    batch that no cleaner explains are `lost`.
    """

    source: str
    path: str
    partition: str
    log_start: int
    log_end: int
    batches: int
    size: int
    lost: tuple[ReportedOffsets, ...] = ()
    doubtful: tuple[ReportedOffsets, ...] = ()
    mended: tuple[ReportedOffsets, ...] = ()
    gaps: tuple[ReportedOffsets, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def is_whole(self) -> bool:
        """Return whether no offset is lost or doubtful."""
        return not self.lost and not self.doubtful

    def to_json(self) -> str:
        """Return the fields as a JSON object."""
        found = asdict(self)
        for name in ("lost", "doubtful", "mended", "gaps"):
            found[name] = [each._asdict() for each in getattr(self, name)]
        return json.dumps(found)


class DamagedOffsets(NamedTuple):
    """A damaged range of a file, and the offsets that it lies between; `end` is exclusive."""

    first: int
    end: int | None
    damage: DamagedRange
    file: str


def find_losses(
    batches: Sequence[SalvagedBatch],
    stretches: Sequence[DamagedOffsets],
    *,
    start: int,
    known_end: int,
) -> Iterator[ReportedOffsets]:
    """Yield the ranges of offsets from `start` to the log's end that are in no batch, in order.

    A range without damage nearby has no file.
    """
    expected = start
    for batch in batches:
        if batch.offset > expected:
            yield _gap(expected, batch.offset, stretches)
        if batch.offsets is not None:
            yield from _lost_inside(batch)
        expected = max(expected, batch.next_offset)
    last = max([known_end, *(_claimed_end(each, expected) for each in stretches)])
    if last > expected:
        yield _gap(expected, last, stretches)
    else:
        yield from (
            ReportedOffsets(expected, None, each.damage.why, each.file, each.damage.position)
            for each in stretches
            if each.end is None and each.damage.hides_more
        )


def find_doubtful(batches: Iterable[SalvagedBatch]) -> Iterator[ReportedOffsets]:
    """Yield the offsets whose records were parsed from a batch with a wrong checksum."""
    why = "read from a batch with a wrong checksum"
    for batch in batches:
        for first, last in consecutive_ranges(batch.offsets or ()):
            yield ReportedOffsets(first, last, why, batch.file, batch.header.position)


def find_mended(batches: Iterable[SalvagedBatch]) -> Iterator[ReportedOffsets]:
    """Yield the offsets of repaired batches."""
    for batch in batches:
        if batch.repairs:
            why = f"repaired: {'; '.join(batch.repairs)}"
            yield ReportedOffsets(
                batch.offset, batch.last_offset, why, batch.file, batch.header.position
            )


def _lost_inside(batch: SalvagedBatch) -> Iterator[ReportedOffsets]:
    """Yield the offsets of a rebuilt batch whose records could not be parsed."""
    present = set(batch.offsets or ())
    absent = (each for each in range(batch.offset, batch.next_offset) if each not in present)
    for first, last in consecutive_ranges(absent):
        yield ReportedOffsets(first, last, "unreadable records", batch.file, batch.header.position)


def _gap(first: int, end: int, stretches: Iterable[DamagedOffsets]) -> ReportedOffsets:
    """Return the range with the damage that explains it, if there is any."""
    for each in stretches:
        if each.first < end and (each.end is None or each.end > first):
            return ReportedOffsets(first, end - 1, each.damage.why, each.file, each.damage.position)
    return ReportedOffsets(first, end - 1, MISSING)


def _claimed_end(loss: DamagedOffsets, expected: int) -> int:
    """Return the end that a damaged batch at the log's end claims, 0 if it does not follow."""
    header = loss.damage.header
    if loss.end is not None or header is None or header.base_offset != expected:
        return 0
    return header.next_offset if header.last_offset >= expected else 0
