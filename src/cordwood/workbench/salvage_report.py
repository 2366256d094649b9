"""What a salvage came to: what is there, what is not and why, what was mended and what is doubtful.

Every offset between the start and the end of the log is in a batch that is kept, or in one of
`lost`. Offsets that compaction has taken away cannot be told from lost ones where there is damage
or where a file is missing: they are lost at most.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from cordwood.workbench.runs import runs
from cordwood.workbench.salvage_batches import Damage
from cordwood.workbench.salvage_chain import Salvaged

MISSING = "no file holds them"


class Offsets(NamedTuple):
    """Some offsets, both ends included, and what is to be said of them.

    Without a `last` it is not known how many follow the first.
    """

    first: int
    last: int | None
    why: str
    file: str = ""
    position: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvageReport:
    """Where the log is now, and everything that is not as it was.

    `gaps` are offsets that no batch has, where nothing is damaged: usual in a compacted log.
    """

    source: str
    path: str
    partition: str
    log_start: int
    log_end: int
    batches: int
    size: int
    lost: tuple[Offsets, ...] = ()
    doubtful: tuple[Offsets, ...] = ()
    mended: tuple[Offsets, ...] = ()
    gaps: tuple[Offsets, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def is_whole(self) -> bool:
        """Whether nothing is lost and nothing doubtful."""
        return not self.lost and not self.doubtful

    def to_json(self) -> str:
        """Return the same as a JSON object."""
        found = asdict(self)
        for name in ("lost", "doubtful", "mended", "gaps"):
            found[name] = [each._asdict() for each in getattr(self, name)]
        return json.dumps(found)


class Loss(NamedTuple):
    """A damaged stretch of a file, and between which offsets it lies."""

    first: int
    end: int | None
    damage: Damage
    file: str


def losses(
    batches: Sequence[Salvaged], stretches: Sequence[Loss], *, start: int, known_end: int
) -> Iterator[Offsets]:
    """Yield the offsets from `start` up to the log's end that nothing holds, in order.

    Those where no damage is have no file.
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
            Offsets(expected, None, each.damage.why, each.file, each.damage.position)
            for each in stretches
            if each.end is None and each.damage.hides_more
        )


def doubtful(batches: Iterable[Salvaged]) -> Iterator[Offsets]:
    """Yield the offsets whose records were read out of a batch with a wrong checksum."""
    why = "read from a batch whose checksum is wrong"
    for batch in batches:
        for first, last in runs(batch.offsets or ()):
            yield Offsets(first, last, why, batch.file, batch.header.position)


def mended(batches: Iterable[Salvaged]) -> Iterator[Offsets]:
    """Yield what was put right."""
    for batch in batches:
        if batch.repairs:
            why = f"put right: {'; '.join(batch.repairs)}"
            yield Offsets(batch.offset, batch.last_offset, why, batch.file, batch.header.position)


def _lost_inside(batch: Salvaged) -> Iterator[Offsets]:
    """Yield the offsets of a rebuilt batch whose records could not be read."""
    present = set(batch.offsets or ())
    absent = (each for each in range(batch.offset, batch.next_offset) if each not in present)
    for first, last in runs(absent):
        yield Offsets(first, last, "records that cannot be read", batch.file, batch.header.position)


def _gap(first: int, end: int, stretches: Iterable[Loss]) -> Offsets:
    """Say why no batch has these offsets."""
    for each in stretches:
        if each.first < end and (each.end is None or each.end > first):
            return Offsets(first, end - 1, each.damage.why, each.file, each.damage.position)
    return Offsets(first, end - 1, MISSING)


def _claimed_end(loss: Loss, expected: int) -> int:
    """Return where a damaged batch at the log's end says that it ends, if it follows."""
    header = loss.damage.header
    if loss.end is not None or header is None or header.base_offset != expected:
        return 0
    return header.next_offset if header.last_offset >= expected else 0
