"""A pass, from its plan to new segments beside the old ones; nothing that was there is changed.

    survey     headers of all segments: numbers, fates, what was aborted
    key map    a range of hashes after the other, each over all segments: dirty ones learnt, clean
               ones looked up
    rewrite    group after group, into `.cleaned` files
    names      synced last: whoever swaps finds all files, or none that count
    proof      if the job asks for it: both sides are read again, by other means (`verify`)

Marks and key map share the memory of the job. Where the marks of all records would take more than
half of it, the pass ends with an earlier segment; that is the one case in which it does.

What a pass before this one has left, killed in the middle, is removed first, and so is what this
one has made when it comes to nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from cordwood.compaction.certificate import Certificate
from cordwood.compaction.chunks import ChunkReader
from cordwood.compaction.cleaned import CleanedWriter, GroupWriter
from cordwood.compaction.engine import HASHES, Chunk, Counts, Engine, KeyMap
from cordwood.compaction.job import (
    CleanedGroup,
    Cleaning,
    CleaningFailedError,
    CleaningJob,
    CleaningStoppedError,
    PassControl,
)
from cordwood.compaction.marks import Marks, most_records
from cordwood.compaction.plan import CleaningPlan, SourceSegment
from cordwood.compaction.proving import prove
from cordwood.compaction.survey import Survey
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Files
from cordwood.storage.index import AbortedEntry
from cordwood.storage.leftovers import remove_cleaned
from cordwood.storage.names import SWAP, parse_segment_name
from cordwood.storage.reader import PartitionReader
from cordwood.storage.reader_transactions import ReaderTransactions
from cordwood.storage.source import DirectorySource


def run_pass(job: CleaningJob, files: Files, *, engine: Engine, control: PassControl) -> Cleaning:
    """Do what a job says; CleaningStoppedError or CleaningFailedError when it comes to nothing."""

    def writer(batches: int) -> CleanedWriter:
        strider = engine.striders(batches)
        return CleanedWriter(files, job.directory, config=job.plan.config, strider=strider)

    ensure_settled(files, job.directory)
    try:
        with failing(job):
            remove_cleaned(files, job.directory)
            under_way = Pass(job=job, files=files, engine=engine, control=control, writer=writer)
            cleaning = under_way.run()
            files.sync_directory(job.directory)
            return prove(job, cleaning, files=files, judges=engine.judges, control=control)
    except BaseException:
        with suppress(OSError):
            remove_cleaned(files, job.directory)
        raise


@contextmanager
def failing(job: CleaningJob) -> Iterator[None]:
    """Say of what makes a pass come to nothing that it has, and where."""
    try:
        yield
    except (CleaningStoppedError, CleaningFailedError):
        raise
    except (CordwoodError, OSError) as error:
        raise CleaningFailedError(f"{job.directory}: {error}") from error


def ensure_settled(files: Files, directory: str) -> None:
    """Refuse a directory of which it takes a loading log to know what is half swapped in."""
    for name in files.list(directory):
        parsed = parse_segment_name(name)
        if parsed is not None and parsed.suffix == SWAP:
            raise CleaningFailedError(
                f"{directory}/{name}: others are being replaced; opening the log settles that"
            )


@dataclass(frozen=True, slots=True)
class InlineRunner:
    """Runs passes where it is called: in tests, and on the command line."""

    files: Files
    engine: Engine

    def run(self, job: CleaningJob, control: PassControl) -> Cleaning:
        return run_pass(job, self.files, engine=self.engine, control=control)

    def limit(self, bytes_per_second: float) -> None:
        """Do nothing: who runs passes here waits for them."""

    def close(self) -> None:
        """Do nothing: it runs in nothing of its own."""


@dataclass(slots=True, kw_only=True)
class Pass:
    """One pass under way; `plan` is the job's, or the part of it that there is memory for.

    `writer` is asked for once, with the number of batches that there are.
    """

    job: CleaningJob
    files: Files
    engine: Engine
    control: PassControl
    writer: Callable[[int], GroupWriter]
    plan: CleaningPlan = field(init=False)
    reader: ChunkReader = field(init=False)

    def __post_init__(self) -> None:
        self.plan = self.job.plan
        self.reader = ChunkReader(
            self.files,
            self.job.directory,
            io_buffer_bytes=self.job.io_buffer_bytes,
            control=self.control,
        )

    def run(self) -> Cleaning:
        survey = self._survey()
        end = self._end_in_memory(survey)
        if end < self.plan.end:
            self.plan = self.plan.until(end)
            survey = self._survey()
        marks = Marks(survey.records)
        room = self.job.memory_bytes - marks.size
        key_map = self.engine.key_map(marks, room, self.plan.erased_keys)
        ranges = self._settle(key_map, survey)
        counts = Counts()
        groups = self._rewrite(survey, marks, counts)
        counts.unkeyed = key_map.unkeyed
        counts.superseded -= key_map.unkeyed
        certificate = Certificate(
            partition=str(self.plan.partition),
            first_dirty=self.plan.first_dirty,
            end=self.plan.end,
            now_ms=self.plan.now_ms,
            segments_before=len(self.plan.segments),
            segments_after=sum(len(group.cleaned) for group in groups),
            keys=key_map.keys,
            ranges=ranges,
            counts=counts,
        )
        return Cleaning(groups, self.plan.end, certificate)

    def _survey(self) -> Survey:
        survey = Survey(self.plan, self._aborted)
        surveyor = self.engine.surveyor(survey.last_offsets)
        for source in self.plan.segments:
            self.reader.survey(source, surveyor, survey=survey)
        return survey

    def _aborted(self) -> tuple[AbortedEntry, ...]:
        """Return the aborted transactions that have records in the plan's segments."""
        reader = PartitionReader(DirectorySource(self.files, self.job.directory))
        try:
            first = self.plan.segments[0].base_offset
            return ReaderTransactions(reader).aborted_between(first, self.plan.end)
        finally:
            reader.close()

    def _end_in_memory(self, survey: Survey) -> int:
        """Return the end of the segments whose marks leave the key map half of the memory."""
        most = most_records(self.job.memory_bytes // 2)
        beyond = (each for each in survey.segments if each.first_number + each.records > most)
        first = next(beyond, None)
        if first is None:
            return self.plan.end
        if first.base_offset <= self.plan.first_dirty:
            raise CleaningFailedError(
                f"{self.job.directory}: {self.job.memory_bytes} bytes of memory are enough for "
                f"{most} records, and the log has {survey.records} to be looked at: "
                "raise log.cleaner.dedupe.buffer.size"
            )
        return first.base_offset

    def _settle(self, key_map: KeyMap, survey: Survey) -> int:
        """Let the key map set all marks, and return in how many ranges it has."""
        first_dirty = self.plan.first_dirty
        learn = partial(key_map.learn, first_offset=first_dirty)
        look_up = partial(key_map.look_up, end_offset=first_dirty)
        begin = ranges = 0
        while begin < HASHES:
            key_map.begin(begin)
            self._visit(survey, learn, lambda source: source.end_offset > first_dirty)
            self._visit(survey, look_up, lambda source: source.base_offset < first_dirty)
            begin, ranges = key_map.settle(), ranges + 1
        return ranges

    def _visit(
        self,
        survey: Survey,
        on_chunk: Callable[[Chunk], object],
        is_meant: Callable[[SourceSegment], bool],
    ) -> None:
        for source, surveyed in zip(self.plan.segments, survey.segments, strict=True):
            if is_meant(source):
                self.reader.visit(source, surveyed, on_chunk=on_chunk)

    def _rewrite(self, survey: Survey, marks: Marks, counts: Counts) -> tuple[CleanedGroup, ...]:
        """Write the segments that are to replace the groups."""
        rewriter = self.engine.rewriter(self.plan)
        writer = self.writer(sum(each.batches for each in survey.segments))

        def on_chunk(chunk: Chunk) -> None:
            left = rewriter.rewrite(chunk, marks, counts=counts)
            writer.append(left)
            self.control.on_bytes(len(left))

        surveyed = iter(survey.segments)
        groups = []
        try:
            for group in self.plan.groups:
                writer.begin(group[0].base_offset)
                of_group = list(zip(group, islice(surveyed, len(group)), strict=True))
                for source, each in of_group:
                    self.reader.visit(source, each, on_chunk=on_chunk)
                aborted = [entry for _, each in of_group for entry in each.aborted]
                cleaned = writer.finish(aborted, modified_ms=group[-1].modified_ms)
                groups.append(CleanedGroup(tuple(each.base_offset for each in group), cleaned))
        finally:
            writer.close()
        return tuple(groups)
