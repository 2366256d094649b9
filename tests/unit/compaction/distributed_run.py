"""A distributed pass whose tasks run here, one after the other."""

from collections import defaultdict
from dataclasses import replace

from cordwood.compaction.cleaning_job import CleaningJob, CleaningResult
from cordwood.compaction.engine.engine import Engine
from cordwood.compaction.passes.attempt_directories import adopt_attempt, create_attempt
from cordwood.compaction.passes.distributed_pass import (
    DistributedPass,
    combine_groups,
    resolve_bucket,
)
from cordwood.compaction.passes.pass_parts import (
    GroupSurvivors,
    PartKeys,
    count_buckets,
    split_into_parts,
)
from cordwood.core.ports import Files
from tests.unit.compaction.cleaned_log import Watched


def run_in_parts(
    job: CleaningJob, files: Files, *, engine: Engine, part_bytes: int, memory_bytes: int = 1 << 20
) -> CleaningResult:
    """Run a distributed pass without the proof, and adopt its files into the log."""
    work = DistributedPass(job=job, files=files, engine=engine, control=Watched())
    groups = work.survey()
    buckets = count_buckets(groups, memory_bytes=memory_bytes)
    told: dict[int, list[PartKeys]] = defaultdict(list)
    for part in reversed(split_into_parts(groups, part_bytes=part_bytes)):
        for bucket, keys in work.collect(part, buckets=buckets):
            told[bucket].append(keys)
    settled: dict[int, list[GroupSurvivors]] = defaultdict(list)
    for each in told.values():
        for answer in resolve_bucket(each, job=job, engine=engine):
            settled[answer.group].append(answer)
    written = []
    for number, group in enumerate(groups):
        attempt = create_attempt(files, job.directory, token=number.to_bytes(8))
        written.append(work.rewrite(group, settled[number], directory=attempt))
        adopt_attempt(files, attempt, directory=job.directory)
    return combine_groups(job, written)


def comparable_result(cleaning: CleaningResult) -> CleaningResult:
    """Return a result without the fields that depend on the number of key ranges."""
    certificate = replace(cleaning.certificate, ranges=0, verified="no")
    return cleaning._replace(certificate=certificate)
