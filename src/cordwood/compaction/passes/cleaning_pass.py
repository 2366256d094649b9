"""One cleaning pass, from plan to new segments next to the old ones (Kafka: `Cleaner.doClean`).

    plan       given with the job: groups of segments, first dirty offset, times
    survey     headers of all segments: record numbers, batch retention, aborted transactions
    key map    one range of key hashes after the other: dirty records learnt, clean ones looked up
    rewrite    group after group into `.cleaned` files (Kafka: `Cleaner.cleanSegments`); where
               memory does not hold all marks, key map and rewrite run once for each window
    sync       directory fsynced last, so that a swap finds all files, or none that count
    proof      if the job requires it: input and output are read again by the verifier
    hand over  the result, for the log's owner to swap in

The pass itself changes no file of the log. Marks and key map share the memory of the job. Marks
take at most half of it; where that does not hold the marks of all records, there are more windows.
The rest is for the key map, which covers more ranges where it does not hold all keys. So a pass
always cleans all of its plan. In addition it takes 16 bytes for each chunk, and 9 for each batch
that has a retention.

A pass first removes the files of an earlier pass that was killed. If it fails, it removes its own.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import add
from typing import NamedTuple

from cordwood.compaction.certificate import Certificate, PassCounts
from cordwood.compaction.cleaning_job import (
    CleanedGroup,
    CleaningFailedError,
    CleaningJob,
    CleaningResult,
    CleaningStoppedError,
    PassControl,
)
from cordwood.compaction.engine.engine import Engine
from cordwood.compaction.engine.header_survey import HeaderSurvey
from cordwood.compaction.engine.record_marks import Marks
from cordwood.compaction.passes.aborted_transactions import AbortedTransactions
from cordwood.compaction.passes.chunk_reader import ChunkReader
from cordwood.compaction.passes.mark_phase import MarkPhase
from cordwood.compaction.passes.mark_windows import (
    MarkWindow,
    SurveyedSegment,
    split_into_windows,
)
from cordwood.compaction.passes.pass_verification import verify_pass
from cordwood.compaction.passes.segment_writer import (
    CleanedSegmentWriter,
    CountingWriter,
    GroupWriter,
)
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Files, Worker
from cordwood.storage.files.file_names import SWAP, parse_segment_name
from cordwood.storage.log.crash_cleanup import remove_cleaned
from cordwood.storage.segment.transaction_index import AbortedTxn


def run_pass(
    job: CleaningJob,
    files: Files,
    *,
    engine: Engine,
    control: PassControl,
    worker: Worker | None = None,
) -> CleaningResult:
    """Run a job; raise CleaningStoppedError or CleaningFailedError if it has no result.

    A worker, of one thread, reads ahead.
    """
    ensure_no_swap_files(files, job.directory)
    try:
        with cleaning_errors(job):
            remove_cleaned(files, job.directory)
            cleaning_pass = CleaningPass(
                job=job,
                files=files,
                engine=engine,
                control=control,
                output=job.directory,
                worker=worker,
            )
            result = cleaning_pass.run()
            files.sync_directory(job.directory)
            return verify_pass(
                job, result, files=files, judges=engine.judges, control=control, worker=worker
            )
    except BaseException:
        with suppress(OSError):
            remove_cleaned(files, job.directory)
        raise


class KeyStats(NamedTuple):
    """Totals of the key maps: distinct dirty keys, ranges of hashes, records without a key."""

    keys: int
    ranges: int
    unkeyed: int

    def plus(self, other: "KeyStats") -> "KeyStats":
        """Return the sums of both."""
        return KeyStats(*map(add, self, other))


@dataclass(slots=True, kw_only=True)
class CleaningPass:
    """One pass under way.

    `output` is the directory of the new segments; None for a dry run, which writes none.
    """

    job: CleaningJob
    files: Files
    engine: Engine
    control: PassControl
    output: str | None
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

    def run(self) -> CleaningResult:
        """Survey, mark and rewrite all groups of the plan; without the proof."""
        job = self.job
        expected = job.expected_io_bytes(job.plan.size)
        self.control.expect(expected)
        groups = self.survey()
        mark_phase = MarkPhase(job, engine=self.engine, reader=self.reader, control=self.control)
        counts, cleaned = PassCounts(), list[CleanedGroup]()
        with closing(self.open_writer(each for group in groups for each in group)) as writer:
            for window in split_into_windows(groups, memory_bytes=job.memory_bytes // 2):
                marks = mark_phase.set_marks(window, groups)
                cleaned += self.rewrite(window, marks, writer=writer, counts=counts)
        self.control.expect(job.expected_io_bytes(counts.bytes_kept) - expected)
        stats = KeyStats(mark_phase.keys, mark_phase.ranges, mark_phase.unkeyed)
        return conclude(job, cleaned, counts=counts, stats=stats)

    def survey(self) -> list[list[SurveyedSegment]]:
        """Return all segments, by groups, with the survey of their headers.

        The survey compares the aborted transactions of the indexes with the markers that it meets.
        If they differ, the log is read for the right ones. If those are others, the survey repeats.
        """
        plan = self.job.plan
        with closing(AbortedTransactions(self.files, self.job.directory, plan)) as aborted:
            survey = self._survey_headers(aborted.read_indexes)
            unconfirmed_from = survey.unconfirmed_from
            if unconfirmed_from is not None and not aborted.recheck(unconfirmed_from):
                survey = self._survey_headers(lambda: aborted.entries)
        surveyed = map(SurveyedSegment, plan.segments, survey.segments)
        return [list(islice(surveyed, len(group))) for group in plan.groups]

    def open_writer(self, segments: Iterable[SurveyedSegment]) -> GroupWriter:
        """Return the writer of the new segments; it has to be closed."""
        if self.output is None:
            return CountingWriter()
        strider = self.engine.striders(sum(each.survey.batches for each in segments))
        config = self.job.plan.config
        return CleanedSegmentWriter(self.files, self.output, config=config, strider=strider)

    def rewrite(
        self, window: MarkWindow, marks: Marks, *, writer: GroupWriter, counts: PassCounts
    ) -> Iterator[CleanedGroup]:
        """Write the segments that replace a window's groups; yield group after group."""
        rewriter = self.engine.rewriter(self.job.plan)
        for group in window.groups:
            writer.begin(group[0].source.base_offset)
            with self.reader.chunks(group) as chunks:
                for chunk in chunks:
                    retained = rewriter.rewrite(window.renumber(chunk), marks, counts=counts)
                    writer.append(retained)
                    self.control.on_bytes(len(retained))
            aborted = [entry for each in group for entry in each.survey.aborted]
            cleaned = writer.finish(aborted, modified_ms=group[-1].source.modified_ms)
            yield CleanedGroup(tuple(each.source.base_offset for each in group), cleaned)

    def _survey_headers(self, aborted: Callable[[], Iterable[AbortedTxn]]) -> HeaderSurvey:
        survey = HeaderSurvey(self.job.plan, aborted)
        surveyor = self.engine.surveyor(survey.last_offsets)
        for source in self.job.plan.segments:
            survey.begin(source.base_offset)
            with self.reader.summaries(source, surveyor) as summaries:
                for data, summary in summaries:
                    survey.add(data, summary)
        return survey


def conclude(
    job: CleaningJob, groups: Sequence[CleanedGroup], *, counts: PassCounts, stats: KeyStats
) -> CleaningResult:
    """Return the result of a pass whose groups are all written and counted."""
    plan = job.plan
    certificate = Certificate(
        partition=str(plan.partition),
        first_dirty=plan.first_dirty,
        end=plan.end,
        now_ms=plan.now_ms,
        segments_before=len(plan.segments),
        segments_after=sum(len(group.cleaned) for group in groups),
        keys=stats.keys,
        ranges=stats.ranges,
        counts=replace(counts, unkeyed=stats.unkeyed, superseded=counts.superseded - stats.unkeyed),
        seed=job.seed,
    )
    return CleaningResult(tuple(groups), plan.end, certificate)


@contextmanager
def cleaning_errors(job: CleaningJob) -> Iterator[None]:
    """Raise CleaningFailedError, with the directory, for any error that fails a pass."""
    try:
        yield
    except (CleaningStoppedError, CleaningFailedError):
        raise
    except (CordwoodError, OSError) as error:
        raise CleaningFailedError(f"{job.directory}: {error}") from error


def ensure_no_swap_files(files: Files, directory: str) -> None:
    """Reject a directory with `.swap` files; loading the log decides which of them count."""
    for name in files.list(directory):
        parsed = parse_segment_name(name)
        if parsed is not None and parsed.suffix == SWAP:
            raise CleaningFailedError(
                f"{directory}/{name}: a segment swap is unfinished; open the log to finish it"
            )


@dataclass(frozen=True, slots=True)
class InlineRunner:
    """A runner whose passes run in the caller's thread: in tests, and on the command line."""

    files: Files
    engine: Engine
    worker: Worker | None = None

    def run(self, job: CleaningJob, control: PassControl) -> CleaningResult:
        return run_pass(job, self.files, engine=self.engine, control=control, worker=self.worker)

    def limit(self, bytes_per_second: float) -> None:
        """Do nothing: the caller waits for the pass, so it is not throttled."""

    def close(self) -> None:
        """Do nothing: the runner holds no resources."""
