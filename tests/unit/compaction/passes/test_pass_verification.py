"""A pass with a violation fails, and its error lists the violations."""

from dataclasses import replace

import pytest

from cordwood.compaction.certificate import PassCounts
from cordwood.compaction.cleaning_job import CleaningFailedError, CleaningStoppedError, Verify
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.engine.plain_rewriter import PlainRewriter
from cordwood.compaction.engine.record_marks import Marks
from cordwood.compaction.engine.segment_chunk import SegmentChunk
from cordwood.compaction.plan.cleaning_plan import CleaningPlan
from tests.unit.compaction.cleaned_log import CleanedLog, Watched
from tests.unit.compaction.compaction_samples import batch

KEYS = "abcdefghijklmnopqrstuvwxyz"


class Forgetful(PlainRewriter):
    """A rewriter that wrongly drops a record of each chunk."""

    def rewrite(self, chunk: SegmentChunk, marks: Marks, *, counts: PassCounts) -> bytearray:
        marks.latest[0] &= 0xFE
        return super().rewrite(chunk, marks, counts=counts)


def filled(verify: Verify, *, is_right: bool = True) -> tuple[CleanedLog, CleaningPlan]:
    """Return a log of one cleanable segment, with a right or a wrong engine."""
    engine = PLAIN if is_right else replace(PLAIN, rewriter=Forgetful)
    cleaned = CleanedLog(engine=engine)
    cleaned.verify = verify
    cleaned.put(batch(0, " ".join(f"{key}1" for key in KEYS)), is_rolled=True)
    cleaned.put(batch(0, "z2"))
    plan = cleaned.plan()
    assert plan is not None
    return cleaned, plan


@pytest.mark.parametrize(
    ("verify", "words"),
    (
        (Verify.ALWAYS, "all keys"),
        (Verify.SAMPLE, "a sample of the keys, seed 0"),
        (Verify.NEVER, "no"),
    ),
)
def test_certificate_reports_how_a_pass_was_verified(verify: Verify, words: str) -> None:
    cleaned, plan = filled(verify)

    assert cleaned.run(plan).certificate.verified == words


def test_pass_with_a_violation_leaves_no_files_and_reports_the_violation() -> None:
    cleaned, plan = filled(Verify.ALWAYS, is_right=False)

    with pytest.raises(
        CleaningFailedError,
        match=r"by all keys: .*the last record of a key was removed \(offset 0\)",
    ):
        cleaned.run(plan)

    assert cleaned.place.names(".cleaned") == []


def test_violation_is_found_by_the_sample_that_contains_the_key() -> None:
    cleaned, plan = filled(Verify.SAMPLE, is_right=False)
    failed = []

    for seed in range(64):
        job = replace(cleaned.job(plan), seed=seed)
        try:
            cleaned.run_job(job)
        except CleaningFailedError:
            failed.append(seed)

    assert 0 < len(failed) < 16


def test_error_of_a_failed_verification_has_the_number_of_violations() -> None:
    cleaned, plan = filled(Verify.ALWAYS)
    wrong = replace(plan, erased_keys=frozenset(key.encode() for key in KEYS))
    made = cleaned.run_job(replace(cleaned.job(plan), verify=Verify.NEVER))

    with pytest.raises(CleaningFailedError, match="and 23 more"):
        cleaned.prove(replace(cleaned.job(plan), plan=wrong), made)


def test_verification_can_be_stopped() -> None:
    cleaned, plan = filled(Verify.ALWAYS)
    made = cleaned.run_job(replace(cleaned.job(plan), verify=Verify.NEVER))

    with pytest.raises(CleaningStoppedError):
        cleaned.prove(cleaned.job(plan), made, control=Watched(stop_after=1))
