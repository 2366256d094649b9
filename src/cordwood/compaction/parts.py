"""A pass in parts that know nothing of each other: for whoever has many hands, and one log.

    survey    of the whole log, by one: headers alone (`passes`)
    collect   part by part: what is left of it as if it were a log of its own, without the values
    settle    bucket by bucket of hashes: which of that is the last of its key in the whole log
    rewrite   group by group, each by the words of its survivors

Between these go keys, their hashes and numbers of records, and nothing else. What a part has dealt
with by itself is right whatever the others have: of dirty records of a key the last one counts, and
a clean one goes if a dirty one has its key. So only what is left of each part is settled, by the
same key map, and what comes of it is the same as if one had done all of it, byte for byte.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Final, NamedTuple

from cordwood.compaction.chunks import ChunkReader
from cordwood.compaction.cleaned import CleanedWriter
from cordwood.compaction.engine import HASHES, MOST_BUCKETS, Chunk, Counts, Engine, NotedKeys
from cordwood.compaction.fates import SegmentSurvey
from cordwood.compaction.job import CleanedGroup, Cleaning, CleaningJob, PassControl
from cordwood.compaction.key_hash import joined_streams
from cordwood.compaction.marking import Marking
from cordwood.compaction.marks import Marks
from cordwood.compaction.passes import KeysSeen, Pass, concluded, failing
from cordwood.compaction.stretches import Stretch, Surveyed
from cordwood.core.ports import Files

#: What a record takes at the most, beside its key, where it is noted and where it is settled.
_NOTED_BYTES: Final = 128
#: A part tells what is left of it in pieces whose notes surely fit so many bytes.
TOLD_BYTES: Final = 16 << 20


class Part(NamedTuple):
    """Some chunks of one group, one behind the other."""

    group: int
    pieces: tuple[Surveyed, ...]

    @property
    def stretch(self) -> Stretch:
        """The records, as those of a log that has no others."""
        return _stretch(self.pieces)


class PartKeys(NamedTuple):
    """What is left of a part in one bucket; `unkeyed` of its records have no key."""

    group: int
    first_number: int
    dirty: NotedKeys
    clean: NotedKeys
    unkeyed: int = 0


class SettledKeys(NamedTuple):
    """Of one group, as one bucket has them, the words of records that are the last of their keys.

    `seen` is what the bucket adds to what is told of all keys.
    """

    group: int
    words: "array[int]"
    seen: KeysSeen


class WrittenGroup(NamedTuple):
    """A group that was rewritten, what was counted in it, and what its buckets have told."""

    cleaned: CleanedGroup
    counts: Counts
    seen: KeysSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class PassInParts:
    """What is done for one log; each call may be made in another process, and more than once."""

    job: CleaningJob
    files: Files
    engine: Engine
    control: PassControl

    def survey(self) -> list[list[Surveyed]]:
        """Return the log's groups with what their headers say."""
        with failing(self.job):
            return self._pass(self.job.directory).survey()

    def whole(self, directory: str) -> Cleaning:
        """Do all of it at once; what is made goes into another directory."""
        with failing(self.job):
            return self._pass(directory).run()

    def collect(self, part: Part, *, buckets: int) -> Iterator[tuple[int, PartKeys]]:
        """Yield what is left of a part, piece by piece, by bucket: of the first in any case."""
        stretch = part.stretch
        with failing(self.job):
            reader = self._pass(self.job.directory).reader
            marking = Marking(self.job, engine=self.engine, reader=reader, control=self.control)
            marks = marking.marks_of(stretch, stretch.groups)
            unkeyed = marking.unkeyed
            for pieces in _cut(part.pieces, _noted_bytes, TOLD_BYTES):
                first = pieces[0].survey.first_number
                told = self._told(reader, stretch, marks, pieces=pieces, buckets=buckets)
                for bucket, dirty, clean in told:
                    yield bucket, PartKeys(part.group, first, dirty, clean, unkeyed)
                    unkeyed = 0

    def rewrite(
        self, group: Sequence[Surveyed], settled: Iterable[SettledKeys], *, directory: str
    ) -> WrittenGroup:
        """Write what is to replace a group into another directory, by what all buckets say."""
        stretch, counts, seen = _stretch(group), Counts(), KeysSeen(0, 0, 0)
        marks = Marks(stretch.records)
        for each in settled:
            self.engine.mark(marks, stretch.first_number, each.words)
            seen = _both(seen, each.seen)
        with failing(self.job):
            under_way = self._pass(directory)
            writer = under_way.writer(sum(each.survey.batches for each in group))
            try:
                (cleaned,) = under_way.rewrite(stretch, marks, writer=writer, counts=counts)
            finally:
                writer.close()
        return WrittenGroup(cleaned, counts, seen)

    def _told(
        self,
        reader: ChunkReader,
        stretch: Stretch,
        marks: Marks,
        *,
        pieces: Sequence[Surveyed],
        buckets: int,
    ) -> Iterator[tuple[int, NotedKeys, NotedKeys]]:
        """Yield what is marked in pieces of a stretch: bucket, dirty and clean."""
        first_dirty, end = self.job.plan.first_dirty, self.job.plan.end
        each = (
            self._left(reader, stretch, marks, pieces=pieces, offsets=offsets, buckets=buckets)
            for offsets in (range(first_dirty, end), range(first_dirty))
        )
        for bucket, (dirty, clean) in enumerate(zip(*each, strict=True)):
            if bucket == 0 or dirty.words or clean.words:
                yield bucket, dirty, clean

    def _left(
        self,
        reader: ChunkReader,
        stretch: Stretch,
        marks: Marks,
        *,
        pieces: Sequence[Surveyed],
        offsets: range,
        buckets: int,
    ) -> Iterator[NotedKeys]:
        """Yield by bucket what is marked in pieces of a stretch, of records at some offsets."""
        collector = self.engine.collector(buckets, stretch.first_number, self.job.seed)

        def on_chunk(chunk: Chunk) -> None:
            collector.collect(stretch.renumbered(chunk), marks, offsets=offsets)

        for source, survey in pieces:
            if source.base_offset < offsets.stop and source.end_offset > offsets.start:
                reader.visit(source, survey, on_chunk=on_chunk)
        return collector.finish()

    def _pass(self, directory: str) -> Pass:
        """Return a pass that writes into a directory."""

        def writer(batches: int) -> CleanedWriter:
            strider = self.engine.striders(batches)
            return CleanedWriter(
                self.files, directory, config=self.job.plan.config, strider=strider
            )

        return Pass(
            job=self.job,
            files=self.files,
            engine=self.engine,
            control=self.control,
            writer=writer,
        )


def parts_of(groups: Sequence[Sequence[Surveyed]], *, part_bytes: int) -> list[Part]:
    """Cut groups between chunks, into parts of so many bytes of the log, or a chunk more.

    Each group has one part at least, and each part one chunk.
    """
    return [
        Part(number, pieces)
        for number, group in enumerate(groups)
        for pieces in _cut(group, _log_bytes, part_bytes)
    ]


def buckets_for(groups: Sequence[Sequence[Surveyed]], *, memory_bytes: int) -> int:
    """Return in how many buckets what is left of all parts surely fits the memory, each by itself.

    Compressed keys may take more than their part of the log does.
    """
    surveys = [each.survey for group in groups for each in group]
    most = sum(map(_noted_bytes, surveys))
    needed = max(1, -(-most // memory_bytes))
    return min(MOST_BUCKETS, 1 << (needed - 1).bit_length())


def settle(parts: Iterable[PartKeys], *, job: CleaningJob, engine: Engine) -> Iterator[SettledKeys]:
    """Yield what stays of one bucket, group by group, once all parts have told what they have."""
    told = sorted(parts, key=lambda part: part.first_number)
    dirty = _numbered([part.dirty for part in told], 0)
    records = sum(len(part.dirty.words) for part in told)
    clean = _numbered([part.clean for part in told], records)
    records += sum(len(part.clean.words) for part in told)
    marks = Marks(records)
    key_map = engine.key_map(marks, job.memory_bytes, erased=frozenset(), seed=job.seed)
    begin = ranges = 0
    while begin < HASHES and records:
        key_map.begin(begin)
        for first, keys in dirty:
            key_map.learn_keys(keys, first_number=first)
        for first, keys in clean:
            key_map.look_up_keys(keys, first_number=first)
        begin, ranges = key_map.settle(), ranges + 1
    words: dict[int, array[int]] = {}
    for part, one, other in zip(told, dirty, clean, strict=True):
        found = words.setdefault(part.group, array("q"))
        for first, keys in (one, other):
            found += engine.survivors(marks, keys, first)
    seen = KeysSeen(key_map.keys, ranges, sum(part.unkeyed for part in told))
    for group, found in words.items():
        yield SettledKeys(group, found, seen)
        seen = KeysSeen(0, 0, 0)


def joined(job: CleaningJob, written: Iterable[WrittenGroup]) -> Cleaning:
    """Return what a pass has come to whose groups, which come in order, were written apart."""
    groups, counts, seen = list[CleanedGroup](), Counts(), KeysSeen(0, 0, 0)
    for each in written:
        groups.append(each.cleaned)
        counts = _counted_behind(counts, each.counts)
        seen = _both(seen, each.seen)
    return concluded(job, groups, counts=counts, seen=seen)


def _stretch(pieces: Sequence[Surveyed]) -> Stretch:
    first, last = pieces[0].survey, pieces[-1].survey
    records = last.first_number + last.records - first.first_number
    return Stretch([pieces], first.first_number, records)


def _cut(
    group: Sequence[Surveyed], weigh: Callable[[SegmentSurvey], int], most: int
) -> Iterator[tuple[Surveyed, ...]]:
    """Yield pieces of a group, each as soon as its chunks weigh enough; an empty one is one."""
    pieces, taken = list[Surveyed](), 0
    for source, survey in group:
        begin, count = 0, len(survey.chunk_positions)
        for stop in range(1, count + 1):
            taken += weigh(survey.chunks(stop - 1, stop))
            if taken >= most:
                yield (*pieces, Surveyed(source, survey.chunks(begin, stop)))
                pieces, taken, begin = [], 0, stop
        if begin < count:
            pieces.append(Surveyed(source, survey.chunks(begin, count)))
    if pieces:
        yield tuple(pieces)
    elif not any(each.survey.size for each in group):
        yield tuple(group)


def _log_bytes(survey: SegmentSurvey) -> int:
    """Return how long chunks are."""
    first = survey.chunk_positions[0] if survey.chunk_positions else 0
    return survey.size - first


def _noted_bytes(survey: SegmentSurvey) -> int:
    """Return what the records of chunks take at the most when they are noted."""
    return _log_bytes(survey) + _NOTED_BYTES * survey.records


def _numbered(each: Sequence[NotedKeys], first: int) -> list[tuple[int, NotedKeys]]:
    """Return noted records with the numbers of the first ones: one behind the other."""
    starts = accumulate((len(keys.words) for keys in each), initial=first)
    return list(zip(starts, each, strict=False))


def _both(one: KeysSeen, other: KeysSeen) -> KeysSeen:
    return KeysSeen(*(first + second for first, second in zip(one, other, strict=True)))


def _counted_behind(counts: Counts, more: Counts) -> Counts:
    """Return the sums of what was counted, the second behind the first."""
    sums = {
        each.name: getattr(counts, each.name) + getattr(more, each.name) for each in fields(Counts)
    }
    stream = joined_streams(counts.stream, more.stream, records=more.records_kept)
    return Counts(**{**sums, "stream": stream})
