"""A pass, from its plan to new segments beside the old ones; nothing that was there is changed.

    survey     headers of all segments: numbers, fates, what was aborted
    key map    a range of hashes after the other, each over all segments: dirty ones learnt, clean
               ones looked up
    rewrite    group after group, into `.cleaned` files; both for one stretch of the log after the
               other, where there is no memory for all marks
    names      synced last: whoever swaps finds all files, or none that count
    proof      if the job asks for it: both sides are read again, by other means (`verify`)

Marks and key map share the memory of the job. Marks take half of it at the most: where that is too
little for all records, there are more stretches; what is left is the key map's, which makes do with
more ranges where it is too little for all keys. Never is less of the log cleaned. On top come 16
bytes a chunk and 9 for each batch that has a fate.

What a pass before this one has left, killed in the middle, is removed first, and so is what this
one has made when it comes to nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from cordwood.compaction.aborted import AbortedTransactions
from cordwood.compaction.certificate import Certificate
from cordwood.compaction.chunks import ChunkReader
from cordwood.compaction.cleaned import CleanedWriter, GroupWriter
from cordwood.compaction.engine import Chunk, Counts, Engine
from cordwood.compaction.job import (
    CleanedGroup,
    Cleaning,
    CleaningFailedError,
    CleaningJob,
    CleaningStoppedError,
    PassControl,
)
from cordwood.compaction.marking import Marking
from cordwood.compaction.marks import Marks
from cordwood.compaction.proving import prove
from cordwood.compaction.stretches import Stretch, Surveyed, stretches
from cordwood.compaction.survey import Survey
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Files, Worker
from cordwood.storage.index import AbortedEntry
from cordwood.storage.leftovers import remove_cleaned
from cordwood.storage.names import SWAP, parse_segment_name


def run_pass(
    job: CleaningJob,
    files: Files,
    *,
    engine: Engine,
    control: PassControl,
    worker: Worker | None = None,
) -> Cleaning:
    """Do what a job says; CleaningStoppedError or CleaningFailedError when it comes to nothing.

    With a worker, of one thread, it reads ahead.
    """

    def writer(batches: int) -> CleanedWriter:
        strider = engine.striders(batches)
        return CleanedWriter(files, job.directory, config=job.plan.config, strider=strider)

    ensure_settled(files, job.directory)
    try:
        with failing(job):
            remove_cleaned(files, job.directory)
            under_way = Pass(
                job=job, files=files, engine=engine, control=control, writer=writer, worker=worker
            )
            cleaning = under_way.run()
            files.sync_directory(job.directory)
            return prove(
                job,
                cleaning,
                files=files,
                judges=engine.judges,
                control=control,
                worker=worker,
            )
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
    worker: Worker | None = None

    def run(self, job: CleaningJob, control: PassControl) -> Cleaning:
        return run_pass(job, self.files, engine=self.engine, control=control, worker=self.worker)

    def limit(self, bytes_per_second: float) -> None:
        """Do nothing: who runs passes here waits for them."""

    def close(self) -> None:
        """Do nothing: it runs in nothing of its own."""


class KeysSeen(NamedTuple):
    """What key maps have told: distinct dirty keys, ranges of hashes, records without a key."""

    keys: int
    ranges: int
    unkeyed: int


def concluded(
    job: CleaningJob, made: Sequence[CleanedGroup], *, counts: Counts, seen: KeysSeen
) -> Cleaning:
    """Return what a pass has come to, once all groups are written and counted."""
    plan = job.plan
    certificate = Certificate(
        partition=str(plan.partition),
        first_dirty=plan.first_dirty,
        end=plan.end,
        now_ms=plan.now_ms,
        segments_before=len(plan.segments),
        segments_after=sum(len(group.cleaned) for group in made),
        keys=seen.keys,
        ranges=seen.ranges,
        counts=replace(counts, unkeyed=seen.unkeyed, superseded=counts.superseded - seen.unkeyed),
        seed=job.seed,
    )
    return Cleaning(tuple(made), plan.end, certificate)


@dataclass(slots=True, kw_only=True)
class Pass:
    """One pass under way; `writer` is asked for once, with the number of batches that there are."""

    job: CleaningJob
    files: Files
    engine: Engine
    control: PassControl
    writer: Callable[[int], GroupWriter]
    worker: Worker | None = None
    reader: ChunkReader = field(init=False)

    def __post_init__(self) -> None:
        self.reader = ChunkReader(
            self.files,
            self.job.directory,
            io_buffer_bytes=self.job.io_buffer_bytes,
            control=self.control,
            worker=self.worker,
        )

    def run(self) -> Cleaning:
        job = self.job
        expected = job.bytes_told(job.plan.size)
        self.control.expect(expected)
        log = self.survey()
        marking = Marking(job, engine=self.engine, reader=self.reader, control=self.control)
        writer = self.writer(sum(each.survey.batches for group in log for each in group))
        counts, made = Counts(), list[CleanedGroup]()
        try:
            for stretch in stretches(log, memory_bytes=job.memory_bytes // 2):
                marks = marking.marks_of(stretch, log)
                made += self.rewrite(stretch, marks, writer=writer, counts=counts)
        finally:
            writer.close()
        self.control.expect(job.bytes_told(counts.bytes_kept) - expected)
        seen = KeysSeen(marking.keys, marking.ranges, marking.unkeyed)
        return concluded(job, made, counts=counts, seen=seen)

    def survey(self) -> list[list[Surveyed]]:
        """Return all segments, by groups, with what their headers say."""
        plan = self.job.plan
        aborted = AbortedTransactions(self.files, self.job.directory, plan)
        try:
            survey = self._surveyed(aborted.indexed)
            doubtful_from = survey.doubtful_from
            if doubtful_from is not None and not aborted.is_borne_out(doubtful_from):
                survey = self._surveyed(lambda: aborted.entries)
        finally:
            aborted.close()
        surveyed = map(Surveyed, plan.segments, survey.segments)
        return [list(islice(surveyed, len(group))) for group in plan.groups]

    def _surveyed(self, aborted: Callable[[], Iterable[AbortedEntry]]) -> Survey:
        survey = Survey(self.job.plan, aborted)
        surveyor = self.engine.surveyor(survey.last_offsets)
        for source in self.job.plan.segments:
            self.reader.survey(source, surveyor, survey=survey)
        return survey

    def rewrite(
        self, stretch: Stretch, marks: Marks, *, writer: GroupWriter, counts: Counts
    ) -> Iterator[CleanedGroup]:
        """Write the segments that are to replace a stretch's groups, one group after the other."""
        rewriter = self.engine.rewriter(self.job.plan)

        def on_chunk(chunk: Chunk) -> None:
            left = rewriter.rewrite(stretch.renumbered(chunk), marks, counts=counts)
            writer.append(left)
            self.control.on_bytes(len(left))

        for group in stretch.groups:
            writer.begin(group[0].source.base_offset)
            for source, survey in group:
                self.reader.visit(source, survey, on_chunk=on_chunk)
            aborted = [entry for each in group for entry in each.survey.aborted]
            cleaned = writer.finish(aborted, modified_ms=group[-1].source.modified_ms)
            yield CleanedGroup(tuple(each.source.base_offset for each in group), cleaned)
