"""A pass done in parts, here and one after the other, as others do them in many places."""

from collections import defaultdict
from dataclasses import replace

from cordwood.compaction.attempts import adopt, begin_attempt
from cordwood.compaction.engine import Engine
from cordwood.compaction.job import Cleaning, CleaningJob
from cordwood.compaction.parts import (
    PartKeys,
    PassInParts,
    SettledKeys,
    buckets_for,
    joined,
    parts_of,
    settle,
)
from cordwood.core.ports import Files
from tests.unit.compaction.cleaning import Watched


def run_in_parts(
    job: CleaningJob, files: Files, *, engine: Engine, part_bytes: int, memory_bytes: int = 1 << 20
) -> Cleaning:
    """Return what a pass in parts comes to, without a proof; its files are those of the log."""
    work = PassInParts(job=job, files=files, engine=engine, control=Watched())
    groups = work.survey()
    buckets = buckets_for(groups, memory_bytes=memory_bytes)
    told: dict[int, list[PartKeys]] = defaultdict(list)
    for part in reversed(parts_of(groups, part_bytes=part_bytes)):
        for bucket, keys in work.collect(part, buckets=buckets):
            told[bucket].append(keys)
    settled: dict[int, list[SettledKeys]] = defaultdict(list)
    for each in told.values():
        for answer in settle(each, job=job, engine=engine):
            settled[answer.group].append(answer)
    written = []
    for number, group in enumerate(groups):
        attempt = begin_attempt(files, job.directory, token=number.to_bytes(8))
        written.append(work.rewrite(group, settled[number], directory=attempt))
        adopt(files, attempt, directory=job.directory)
    return joined(job, written)


def told_alike(cleaning: Cleaning) -> Cleaning:
    """Return what a pass has come to, but for how its key maps went about it."""
    certificate = replace(cleaning.certificate, ranges=0, verified="no")
    return cleaning._replace(certificate=certificate)
