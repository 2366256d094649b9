"""A cleaning pass in parts that run independently, for one log and many tasks.

    survey    the whole log, in one task: headers alone (`cleaning_pass`)
    collect   part by part: the keys that survive if the part were a log of its own
    resolve   bucket by bucket of key hashes: the records that are the last of their keys
    rewrite   group by group, by the words of its survivors
    combine   the groups, in order, make the result of the pass

Phases exchange only keys, key hashes and record numbers (`pass_parts`). Local decisions are final:
within a part the last dirty record of a key wins, and a clean one loses to any dirty one. So only
the survivors of each part are resolved, by the same key map. The result is the same as that of one
process, byte for byte.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Final

from cordwood.compaction.certificate import PassCounts
from cordwood.compaction.cleaning_job import (
    CleanedGroup,
    CleaningJob,
    CleaningResult,
    PassControl,
)
from cordwood.compaction.engine.engine import HASHES, Engine, KeyBlock
from cordwood.compaction.engine.record_marks import Marks
from cordwood.compaction.key_hash import joined_streams
from cordwood.compaction.passes.chunk_reader import ChunkReader
from cordwood.compaction.passes.cleaning_pass import (
    CleaningPass,
    KeyStats,
    cleaning_errors,
    conclude,
)
from cordwood.compaction.passes.mark_phase import MarkPhase
from cordwood.compaction.passes.mark_windows import MarkWindow, SurveyedSegment, window_of
from cordwood.compaction.passes.pass_parts import (
    GroupSurvivors,
    PartKeys,
    PassPart,
    WrittenGroup,
    collected_bytes,
    cut_segments,
)
from cordwood.core.ports import Files

#: A part returns its keys in blocks of about this size.
KEY_BLOCK_BYTES: Final = 16 << 20
_NO_STATS: Final = KeyStats(0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributedPass:
    """The phases of one log's pass that read or write segments.

    Each call may run in another process, and may be retried.
    """

    job: CleaningJob
    files: Files
    engine: Engine
    control: PassControl

    def survey(self) -> list[list[SurveyedSegment]]:
        """Return the log's groups with the survey of their headers."""
        with cleaning_errors(self.job):
            return self._pass(output=None).survey()

    def run_whole(self, directory: str) -> CleaningResult:
        """Run all phases in this process; the new segments are written into another directory."""
        with cleaning_errors(self.job):
            return self._pass(output=directory).run()

    def collect(self, part: PassPart, *, buckets: int) -> Iterator[tuple[int, PartKeys]]:
        """Yield bucket numbers and the keys that survive in a part; bucket 0 even if it is empty.

        A large part yields several blocks for a bucket.
        """
        window = part.window
        with cleaning_errors(self.job):
            reader = self._pass(output=None).reader
            mark_phase = MarkPhase(
                self.job, engine=self.engine, reader=reader, control=self.control
            )
            marks = mark_phase.set_marks(window, window.groups)
            unkeyed = mark_phase.unkeyed
            for segments in cut_segments(part.segments, collected_bytes, most=KEY_BLOCK_BYTES):
                first = segments[0].survey.first_number
                for bucket, dirty, clean in self._collect_cut(
                    reader, window, marks, segments=segments, buckets=buckets
                ):
                    yield bucket, PartKeys(part.group, first, dirty, clean, unkeyed)
                    unkeyed = 0

    def rewrite(
        self,
        group: Sequence[SurveyedSegment],
        survivors: Iterable[GroupSurvivors],
        *,
        directory: str,
    ) -> WrittenGroup:
        """Write the segments that replace a group into another directory.

        `survivors` come from all buckets.
        """
        window, counts, stats = window_of(group), PassCounts(), _NO_STATS
        marks = Marks(window.records)
        for each in survivors:
            self.engine.mark(marks, window.first_number, each.words)
            stats = stats.plus(each.stats)
        with cleaning_errors(self.job):
            cleaning_pass = self._pass(output=directory)
            with closing(cleaning_pass.open_writer(group)) as writer:
                (cleaned,) = cleaning_pass.rewrite(window, marks, writer=writer, counts=counts)
        return WrittenGroup(cleaned, counts, stats)

    def _collect_cut(
        self,
        reader: ChunkReader,
        window: MarkWindow,
        marks: Marks,
        *,
        segments: Sequence[SurveyedSegment],
        buckets: int,
    ) -> Iterator[tuple[int, KeyBlock, KeyBlock]]:
        """Yield bucket, dirty keys and clean keys of segments; bucket 0 even if it is empty."""
        first_dirty, end = self.job.plan.first_dirty, self.job.plan.end
        dirty, clean = (
            self._collect_keys(
                reader, window, marks, segments=segments, offsets=offsets, buckets=buckets
            )
            for offsets in (range(first_dirty, end), range(first_dirty))
        )
        for bucket, (dirty_keys, clean_keys) in enumerate(zip(dirty, clean, strict=True)):
            if bucket == 0 or dirty_keys.words or clean_keys.words:
                yield bucket, dirty_keys, clean_keys

    def _collect_keys(
        self,
        reader: ChunkReader,
        window: MarkWindow,
        marks: Marks,
        *,
        segments: Sequence[SurveyedSegment],
        offsets: range,
        buckets: int,
    ) -> Iterator[KeyBlock]:
        """Return, bucket by bucket, the marked records of segments within some offsets."""
        collector = self.engine.collector(buckets, window.first_number, self.job.seed)
        touched = [
            each
            for each in segments
            if each.source.base_offset < offsets.stop and each.source.end_offset > offsets.start
        ]
        with reader.chunks(touched) as chunks:
            for chunk in chunks:
                collector.collect(window.renumber(chunk), marks, offsets=offsets)
        return collector.finish()

    def _pass(self, *, output: str | None) -> CleaningPass:
        return CleaningPass(
            job=self.job,
            files=self.files,
            engine=self.engine,
            control=self.control,
            output=output,
        )


def resolve_bucket(
    parts: Iterable[PartKeys], *, job: CleaningJob, engine: Engine
) -> Iterator[GroupSurvivors]:
    """Yield the survivors of one bucket, group by group, given the keys of all parts."""
    ordered = sorted(parts, key=lambda part: part.first_number)
    dirty = _number_blocks([part.dirty for part in ordered], 0)
    records = sum(len(part.dirty.words) for part in ordered)
    clean = _number_blocks([part.clean for part in ordered], records)
    records += sum(len(part.clean.words) for part in ordered)
    marks = Marks(records)
    key_map = engine.key_map(marks, job.memory_bytes, erased=frozenset(), seed=job.seed)
    begin = ranges = 0
    while begin < HASHES and records:
        key_map.begin_range(begin)
        for first, block in dirty:
            key_map.learn_keys(block, first_number=first)
        for first, block in clean:
            key_map.look_up_keys(block, first_number=first)
        begin, ranges = key_map.finish_range(), ranges + 1
    words: dict[int, array[int]] = {}
    for part, dirty_block, clean_block in zip(ordered, dirty, clean, strict=True):
        survivors = words.setdefault(part.group, array("q"))
        for first, block in (dirty_block, clean_block):
            survivors += engine.survivors(marks, block, first)
    stats = KeyStats(key_map.keys, ranges, sum(part.unkeyed for part in ordered))
    for group, survivors in words.items():
        yield GroupSurvivors(group, survivors, stats)
        stats = _NO_STATS  # the first group carries the totals of the bucket


def combine_groups(job: CleaningJob, written: Iterable[WrittenGroup]) -> CleaningResult:
    """Return the result of a pass whose groups were written separately; they come in order."""
    groups, counts, stats = list[CleanedGroup](), PassCounts(), _NO_STATS
    for each in written:
        groups.append(each.cleaned)
        counts = _add_counts(counts, each.counts)
        stats = stats.plus(each.stats)
    return conclude(job, groups, counts=counts, stats=stats)


def _number_blocks(blocks: Sequence[KeyBlock], first: int) -> list[tuple[int, KeyBlock]]:
    """Return blocks with the number of their first record, one block behind the other."""
    starts = accumulate((len(block.words) for block in blocks), initial=first)
    return list(zip(starts, blocks, strict=False))


def _add_counts(counts: PassCounts, more: PassCounts) -> PassCounts:
    """Return the sums of counts; the stream of `more` follows that of `counts`."""
    sums = {
        each.name: getattr(counts, each.name) + getattr(more, each.name)
        for each in fields(PassCounts)
    }
    stream = joined_streams(counts.stream, more.stream, records=more.records_kept)
    return PassCounts(**{**sums, "stream": stream})
