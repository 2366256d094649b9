"""`compact` against random logs: the oracle's survivors, a right directory and certificate."""

import os
from collections import Counter
from collections.abc import Callable

import pytest

from cordwood.compaction.cleaning_job import Verify
from cordwood.compaction.plan.delete_horizon import HorizonState
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.workbench.certificate_check import check_certificate
from cordwood.workbench.topic_settings_lookup import SettingsFinder
from cordwood.workbench.verify.verify import verify
from tests.adversary.compact_oracle import committed_of, compacted, order_of, survivors
from tests.adversary.random_logs import random_log
from tests.adversary.verify_oracle import SOURCE, placed
from tests.adversary.witness_damages import Directory

SOAK = os.environ.get("CORDWOOD_SOAK") == "1"
LOGS = 50_000 if SOAK else 250
PLANTED_LOGS = 200


def fault(seed: int, counts: Counter[str], how: Verify = Verify.ALWAYS) -> str:
    """Compact the log of a seed; return what is wrong with the result, "" if nothing is."""
    log = random_log(seed)
    files, order = placed(Directory(log.files, log.beside)), order_of(log, how)
    done = compacted(files, order)
    expected = survivors(log, done.report.end if done.report.certificate else 0)
    if done.report.certificate is None:
        counts["nothing to do"] += 1
        expected = survivors(log, 0)
    if done.uncommitted != expected:
        return f"seed {seed}: {order}: read_uncommitted differs"
    if done.committed != committed_of(log, expected):
        return f"seed {seed}: {order}: read_committed differs"
    settings = SettingsFinder(files, given={"cleanup.policy": "compact"})
    found = verify(files, ["/source"], settings=settings)
    if found.is_damaged:
        return f"seed {seed}: {order}: {found}"
    if done.report.certificate is not None:
        counts["passes"] += 1
        counts["removed"] += len(log.records) - len(expected)
        checked = check_certificate(
            files, SOURCE, certificate=done.report.certificate, decoder=PlainDecoder()
        )
        if checked.is_wrong:
            return f"seed {seed}: {order}: {checked}"
    return ""


@pytest.mark.fuzz
@pytest.mark.timeout(36_000 if SOAK else 180)
def test_survivors_are_those_of_the_oracle() -> None:
    counts: Counter[str] = Counter()

    wrong = [words for seed in range(LOGS) if (words := fault(seed, counts))]

    assert wrong == []
    assert min(counts[name] for name in ("nothing to do", "passes", "removed")) > LOGS // 20


@pytest.mark.fuzz
@pytest.mark.parametrize(
    ("where", "mistake"),
    (
        ("compaction.engine.record_marks.Marks.is_latest", lambda *_: True),
        ("compaction.engine.record_marks.Marks.is_latest", lambda _, number: number % 7 != 3),
        ("compaction.engine.plain_rewriter.horizon_state", lambda *_: HorizonState.REACHED),
    ),
    ids=("all records stay", "some records go", "tombstones go at once"),
)
def test_planted_mistake_is_found(
    where: str, mistake: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"cordwood.{where}", mistake)
    counts: Counter[str] = Counter()

    assert any(fault(seed, counts, Verify.NEVER) for seed in range(PLANTED_LOGS))
