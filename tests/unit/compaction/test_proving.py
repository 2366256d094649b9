"""A pass that is not right has come to nothing, and says what is wrong."""

from dataclasses import replace

import pytest

from cordwood.compaction.engine import Chunk, Counts
from cordwood.compaction.job import CleaningFailedError, CleaningStoppedError, Verify
from cordwood.compaction.marks import Marks
from cordwood.compaction.plain import PLAIN
from cordwood.compaction.plan import CleaningPlan
from cordwood.compaction.rewrite import PlainRewriter
from tests.unit.compaction.cleaning import CleanedLog, Watched
from tests.unit.compaction.compaction_samples import batch

KEYS = "abcdefghijklmnopqrstuvwxyz"


class Forgetful(PlainRewriter):
    """Drops a record of each chunk that it should have kept."""

    def rewrite(self, chunk: Chunk, marks: Marks, *, counts: Counts) -> bytearray:
        marks.latest[0] &= 0xFE
        return super().rewrite(chunk, marks, counts=counts)


def filled(verify: Verify, *, is_right: bool = True) -> tuple[CleanedLog, CleaningPlan]:
    """Return a log of one segment to be cleaned, by an engine that is right or is not."""
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
def test_certificate_says_how_a_pass_was_verified(verify: Verify, words: str) -> None:
    cleaned, plan = filled(verify)

    assert cleaned.run(plan).certificate.verified == words


def test_pass_that_is_wrong_leaves_nothing_and_says_what() -> None:
    cleaned, plan = filled(Verify.ALWAYS, is_right=False)

    with pytest.raises(
        CleaningFailedError,
        match=r"by all keys: .*the last record of a key is gone \(offset 0\)",
    ):
        cleaned.run(plan)

    assert cleaned.place.names(".cleaned") == []


def test_pass_that_is_wrong_is_noticed_by_the_sample_that_has_the_key() -> None:
    cleaned, plan = filled(Verify.SAMPLE, is_right=False)
    failed = []

    for seed in range(64):
        job = replace(cleaned.job(plan), seed=seed)
        try:
            cleaned.run_job(job)
        except CleaningFailedError:
            failed.append(seed)

    assert 0 < len(failed) < 16


def test_pass_that_is_wrong_says_how_many_violations_there_are() -> None:
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
