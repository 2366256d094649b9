"""Directories of stopped cleaners: no false alarm, the right records, and each damage is found."""

import os
from collections import Counter

import pytest

from tests.adversary.compact_oracle import Row, rows_of
from tests.adversary.stopped_cleaners import (
    DAMAGES,
    STEPS,
    StoppedCleaner,
    hurt,
    is_of_a_pass,
    stopped,
)
from tests.adversary.verify_mistakes import STOPPED_MISTAKES, VerifyMistake
from tests.adversary.verify_oracle import placed, verified

SOAK = os.environ.get("CORDWOOD_SOAK") == "1"
LOGS = 100_000 if SOAK else 1_000
FIRST = int(os.environ.get("CORDWOOD_FIRST_SEED", "0"))
PLANTED_LOGS = 300
POLICY = "compact"

pytestmark = [pytest.mark.fuzz, pytest.mark.timeout(36_000 if SOAK else 180)]


def fault(seed: int, step: str, counts: Counter[str]) -> str:
    """Return what is wrong with the directory after a step, "" if nothing is."""
    out = stopped(seed, step)
    if out is None:
        return ""
    counts[step] += 1
    counts["sources that return"] += out.has_returned
    found = verified(out.directory, POLICY)
    if found.is_damaged:
        return f"seed {seed}: {step}: {found}"
    for is_committed in (False, True):
        if _rows(out, is_committed=is_committed) != _expected(out, is_committed=is_committed):
            return f"seed {seed}: {step}: other records, committed: {is_committed}"
    return ""


def missed(seed: int, kind: str, counts: Counter[str]) -> str:
    """Return the damage if it is neither found nor as a pass would leave it, "" otherwise."""
    out = hurt(seed, kind)
    if out is None:
        return ""
    if verified(out.directory, POLICY).is_damaged:
        counts[f"{kind}: {out.step}"] += 1
        return ""
    if kind == ".swap log cut" and is_of_a_pass(out, seed):
        return ""
    return f"seed {seed}: {kind}: {out.step}"


def _rows(out: StoppedCleaner, *, is_committed: bool) -> list[Row]:
    return rows_of(placed(out.directory), is_committed=is_committed)


def _expected(out: StoppedCleaner, *, is_committed: bool) -> list[Row]:
    return [
        Row(each.offset, each.key, each.value) for each in out.readable(is_committed=is_committed)
    ]


def test_stopped_cleaner_leaves_no_damage_and_the_right_records() -> None:
    counts: Counter[str] = Counter()
    steps = sorted(STEPS)

    seeds = range(FIRST, FIRST + LOGS)
    wrong = [words for seed in seeds if (words := fault(seed, steps[seed % len(steps)], counts))]

    assert wrong == []
    assert {name for name, count in counts.items() if count} == {*STEPS, "sources that return"}


@pytest.mark.parametrize("kind", DAMAGES)
def test_damaged_swap_log_is_found(kind: str) -> None:
    counts: Counter[str] = Counter()

    seeds = range(FIRST, FIRST + LOGS // 4)
    wrong = [words for seed in seeds if (words := missed(seed, kind, counts))]

    assert wrong == []
    assert counts.keys() == {f"{kind}: {step}" for step in DAMAGES[kind][0]}


@pytest.mark.parametrize("seed", (26_163, 26_376, 27_081, 30_654))
def test_cut_between_batches_without_index_entries_is_as_a_pass_leaves_it(seed: int) -> None:
    out = hurt(seed, ".swap log cut")

    assert out is not None
    assert is_of_a_pass(out, seed)
    assert not verified(out.directory, POLICY).is_damaged


@pytest.mark.parametrize("planted", STOPPED_MISTAKES.values(), ids=STOPPED_MISTAKES)
def test_planted_mistake_is_found(planted: VerifyMistake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"cordwood.{planted.where}", planted.mistake)
    counts: Counter[str] = Counter()
    (kind,) = planted.kinds
    find = fault if kind in STEPS else missed

    assert any(find(seed, kind, counts) for seed in range(PLANTED_LOGS))
