"""Seeded random partitions of every kind, with the state of each record.

    random_log(seed)      a log and its directory, as a broker leaves it after a clean stop
    log.files             the partition's directory: bytes by file name
    log.beside            the log directory around it: checkpoints, clean-shutdown marker
    log.records           each record in the files: content, state, file, the bytes that it needs
    log.batches           each batch in the files: file, position, size, offsets, kind
    log.segments          the same batches before they had bytes, by segment
    log.readable()        the records that a reader gets, under either isolation
    log.replica(seed)     another replica of the partition: other segments, cleaning and retention
    log.features          words for what the log has; `FEATURES` lists all of them

The state of a record is "plain" (no transaction), "committed", "aborted" or "open". A reader with
`read_committed` gets the plain and the committed ones below `log.stable_end`.

A log has v0, v1 and v2 batches, all codecs, idempotent and transactional producers, leader epochs,
and may have been cleaned (`cleaned_to`) and shortened (`start`). The directory is legal: `verify`
finds nothing in it, with `cleanup.policy` = `log.policy`.
"""

import random
from dataclasses import dataclass, field
from typing import NamedTuple

from cordwood.records.compression import Codec
from tests.adversary.batch_bytes import RecordContent, Span
from tests.adversary.log_cleaning import cleaned, segments_of
from tests.adversary.log_history import OLD_CODECS, LogHistory
from tests.adversary.log_layout import LaidOut, lay_out
from tests.adversary.planned_batch import PlannedBatch, PlannedSegment

TOPIC, PARTITION = "orders", 3
NAME = f"{TOPIC}-{PARTITION}"

FEATURES = frozenset(
    {
        "v0",
        "v1",
        "v2",
        *(f"v{magic} {codec.name.lower()}" for magic in (0, 1) for codec in OLD_CODECS),
        *(f"v2 {codec.name.lower()}" for codec in Codec),
        "idempotent",
        "committed",
        "aborted",
        "open",
        "overlapping transactions",
        "compacted",
        "emptied batch",
        "retention",
        "deleted records",
        "epochs",
        "several segments",
        "batch in a value",
    }
)


class WrittenRecord(NamedTuple):
    """A record in a file: its content, its transaction's state, and the bytes that it needs.

    `batch` is the number of its batch in the log's list.
    """

    content: RecordContent
    state: str
    file: str
    needs: tuple[Span, ...]
    batch: int


class WrittenBatch(NamedTuple):
    """A batch in a file; `kind` is "data", "commit" or "abort"."""

    file: str
    position: int
    size: int
    base_offset: int
    last_offset: int
    kind: str
    magic: int
    producer_id: int

    @property
    def end(self) -> int:
        return self.position + self.size


@dataclass
class RandomLog:
    """A partition's directory, and everything that is in it; `end` is exclusive."""

    seed: int
    plan: list[PlannedBatch]
    files: dict[str, bytes] = field(default_factory=dict)
    beside: dict[str, bytes] = field(default_factory=dict)
    records: list[WrittenRecord] = field(default_factory=list)
    batches: list[WrittenBatch] = field(default_factory=list)
    segments: list[PlannedSegment] = field(default_factory=list)
    start: int = 0
    end: int = 0
    cleaned_to: int = 0
    features: frozenset[str] = frozenset()

    @property
    def policy(self) -> str:
        """The topic's cleanup.policy."""
        return "compact" if self.cleaned_to else "delete"

    @property
    def stable_end(self) -> int:
        """The last stable offset: where the oldest open transaction begins, or the end."""
        opened = (each.base_offset for each in self.plan if each.state == "open")
        return min(opened, default=self.end)

    def logs(self) -> list[str]:
        """Return the names of the log files, in order."""
        return sorted(name for name in self.files if name.endswith(".log"))

    def readable(self, *, is_committed: bool) -> list[RecordContent]:
        """Return the records that a reader gets from the log start on."""
        found = [each for each in self.records if each.content.offset >= self.start]
        if is_committed:
            end = self.stable_end
            found = [
                each
                for each in found
                if each.state in {"plain", "committed"} and each.content.offset < end
            ]
        return [each.content for each in found]

    def replica(self, seed: int) -> "RandomLog":
        """Return another replica: the same batches in other segments."""
        chance = random.Random(f"replica {self.seed} {seed}")
        return _directory_of(self.seed, self.plan, chance, set(self.features))


def random_log(seed: int, *, is_plain: bool = False) -> RandomLog:
    """Return the log of a seed; a plain one has neither producers nor headers."""
    chance = random.Random(f"log {seed}")
    history = LogHistory(chance, is_plain=is_plain)
    return _directory_of(seed, history.written(), chance, history.features)


def _directory_of(
    seed: int, plan: list[PlannedBatch], chance: random.Random, features: set[str]
) -> RandomLog:
    """Return a directory with the batches of a plan: segmented, cleaned and shortened by chance."""
    features = features - {"compacted", "emptied batch", "retention", "deleted records"}
    segments, cleaned_to = list(segments_of(plan, chance)), 0
    if chance.random() < 0.35:
        segments, cleaned_to = cleaned(segments, chance, features)
    start = plan[0].base_offset
    if len(segments) > 1 and chance.random() < 0.2:
        del segments[: chance.randrange(1, len(segments))]
        features.add("retention")
        start = segments[0].base_offset
    if chance.random() < 0.1 and plan[-1].last_offset > start:
        start = chance.randint(start + 1, plan[-1].last_offset)
        features.add("deleted records")
    if len(segments) > 1:
        features.add("several segments")
    log = RandomLog(seed, plan, start=start, cleaned_to=cleaned_to, features=frozenset(features))
    fill(log, segments)
    return log


def fill(log: RandomLog, segments: list[PlannedSegment]) -> None:
    """Set the files, the records and the batches of a log with these segments."""
    log.segments = segments
    laid = lay_out(log.plan, segments)
    log.files, log.end = laid.files, log.plan[-1].last_offset + 1
    log.beside = _beside(log, segments[0].base_offset)
    _add_contents(log, laid)


def _add_contents(log: RandomLog, laid: LaidOut) -> None:
    for planned, encoded, file, position in laid.places:
        for record, needs in zip(planned.records, encoded.needs, strict=True):
            spans = tuple((position + start, position + stop) for start, stop in needs)
            log.records.append(WrittenRecord(record, planned.state, file, spans, len(log.batches)))
        log.batches.append(
            WrittenBatch(
                file,
                position,
                len(encoded.data),
                planned.base_offset,
                planned.last_offset,
                planned.kind,
                planned.magic,
                planned.producer_id,
            )
        )


def _beside(log: RandomLog, first_base: int) -> dict[str, bytes]:
    """Return the files of a log directory that was stopped in order."""
    offsets = {"recovery-point": log.end, "replication": log.end}
    if log.start > first_base:
        offsets["log-start"] = log.start
    if log.cleaned_to:
        offsets["cleaner"] = log.cleaned_to
    found = {
        f"{name}-offset-checkpoint": b"0\n1\n%s %d %d\n" % (TOPIC.encode(), PARTITION, offset)
        for name, offset in offsets.items()
    }
    found[".kafka_cleanshutdown"] = b'{"version":0,"brokerEpoch":-1}'
    return found
