"""`verify` against random logs and random damage: found, or harmless by proof; no false alarm."""

import os
from collections import Counter

import pytest

from cordwood.workbench.verify.findings import Severity, Verification
from tests.adversary.random_logs import FEATURES, RandomLog, random_log
from tests.adversary.verify_mistakes import MISTAKES, VerifyMistake
from tests.adversary.verify_oracle import latest_times, mean_the_same, verified
from tests.adversary.witness_damages import KINDS, LEGAL, Directory, damage, directory_of

SOAK = os.environ.get("CORDWOOD_SOAK") == "1"
LOGS = 100_000 if SOAK else 2_000
FIRST = int(os.environ.get("CORDWOOD_FIRST_SEED", "0"))
PARTS = 2
PLANTED_LOGS = 300
#: Kinds that may pass unreported, because nothing that reads the directory is affected.
MAY_BE_HARMLESS = frozenset(
    {
        "last entry of an offset index gone",
        "last entry of a time index gone",
        "last entry of a transaction index gone",
        "bit of a time index",
        "bit of a transaction index",
        "bit of an offset index",
        "transaction index gone",
        "snapshot gone",
        "newest snapshots gone",
        "start of an epoch",
        "middle segment gone",
    }
)
#: Kinds that may only have a note: a legal log of another history would be the same.
MAY_BE_NOTED = frozenset({"checkpoint beyond the end", "middle segment gone", "start of an epoch"})


def missed(seed: int, counts: Counter[str], kinds: tuple[str, ...] = ()) -> list[str]:
    """Return the damage of a seed's log that is neither found nor harmless; count all of it."""
    log, choice = random_log(seed), kinds or sorted(KINDS)
    kind = choice[seed % len(choice)]
    hurt = damage(log, kind, seed)
    if hurt is None:
        return []
    found = verified(hurt, log.policy)
    if found.is_damaged:
        counts[f"found: {kind}"] += 1
        return []
    if kind in MAY_BE_NOTED and _notes(found) - _notes(verified(directory_of(log), log.policy)):
        counts[f"noted: {kind}"] += 1
        return []
    if kind in MAY_BE_HARMLESS and _mean_the_same(hurt, log):
        counts[f"harmless: {kind}"] += 1
        return []
    return [f"seed {seed}: {kind} in a log of {', '.join(sorted(log.features))}"]


def _notes(found: Verification) -> set[str]:
    return {str(each) for each in found.all_findings if each.severity is Severity.NOTE}


def _mean_the_same(hurt: Directory, log: RandomLog) -> bool:
    left, known = latest_times(hurt), latest_times(directory_of(log))
    is_same_latest = all(known[name] == time for name, time in left.items() if name in known)
    return is_same_latest and mean_the_same(hurt, log)


def seeds(part: int) -> range:
    """Return the seeds of a part; each part has all kinds of damage."""
    return range(FIRST + part * LOGS // PARTS, FIRST + (part + 1) * LOGS // PARTS)


@pytest.mark.fuzz
@pytest.mark.timeout(36_000 if SOAK else 180)
@pytest.mark.parametrize("part", range(PARTS))
def test_each_damage_is_found_or_harmless_by_proof(part: int) -> None:
    counts: Counter[str] = Counter()

    wrong = [words for seed in seeds(part) for words in missed(seed, counts)]

    assert wrong == []
    assert {name.partition(": ")[2] for name in counts} == KINDS.keys(), counts
    assert {name.partition(": ")[2] for name in counts if name.startswith("found")} >= (
        KINDS.keys() - {"snapshot gone", "last entry of an offset index gone"}
    ), counts


@pytest.mark.fuzz
@pytest.mark.timeout(36_000 if SOAK else 180)
@pytest.mark.parametrize("part", range(PARTS))
def test_healthy_logs_have_no_damage(part: int) -> None:
    features: Counter[str] = Counter()
    changes: Counter[str] = Counter()
    for seed in seeds(part):
        log, legal = random_log(seed), sorted(LEGAL)
        change = legal[seed % len(legal)]
        directory = damage(log, change, seed)
        if directory is None:
            continue
        features.update(log.features)
        changes[change] += 1

        found = verified(directory, log.policy)

        assert not found.is_damaged, f"seed {seed}: {change}: {found}"
    assert features.keys() == FEATURES
    assert changes.keys() == LEGAL.keys()


def test_marker_that_a_cleaner_removed_may_have_ended_a_transaction_of_the_first_snapshot() -> None:
    log = random_log(22_727)

    found = verified(directory_of(log), log.policy)

    assert not found.is_damaged, found


def test_stable_offset_that_is_too_low_is_harmless() -> None:
    """A broker reads entries until one has a stable offset at or above the end of a fetch."""
    kind = sorted(KINDS)[72_699 % len(KINDS)]

    assert kind == "bit of a transaction index"
    assert missed(72_699, Counter()) == []


@pytest.mark.fuzz
@pytest.mark.parametrize("planted", MISTAKES.values(), ids=MISTAKES)
def test_planted_mistake_is_found(planted: VerifyMistake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"cordwood.{planted.where}", planted.mistake)
    counts: Counter[str] = Counter()

    assert any(missed(seed, counts, planted.kinds) for seed in range(PLANTED_LOGS))
