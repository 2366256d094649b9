"""`verify` against random logs and random damage: found, or harmless by proof; no false alarm."""

import os
from collections import Counter
from collections.abc import Callable

import pytest

from tests.adversary.random_logs import FEATURES, random_log
from tests.adversary.verify_oracle import latest_times, meaning_of, verified
from tests.adversary.witness_damages import KINDS, Directory, damage

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
        "start of an epoch",
        "middle segment gone",
    }
)


def missed(seed: int, counts: Counter[str]) -> list[str]:
    """Return the damage of a seed's log that is neither found nor harmless; count all of it."""
    log, kinds = random_log(seed), sorted(KINDS)
    kind = kinds[seed % len(kinds)]
    hurt = damage(log, kind, seed)
    if hurt is None:
        return []
    if verified(hurt, log).all_findings:
        counts[f"found: {kind}"] += 1
        return []
    if kind in MAY_BE_HARMLESS and _mean_the_same(hurt, Directory(log.files, log.beside)):
        counts[f"harmless: {kind}"] += 1
        return []
    return [f"seed {seed}: {kind} in a log of {', '.join(sorted(log.features))}"]


def _mean_the_same(hurt: Directory, healthy: Directory) -> bool:
    left, known = latest_times(hurt), latest_times(healthy)
    is_same_latest = all(known[name] == time for name, time in left.items() if name in known)
    return is_same_latest and meaning_of(hurt) == meaning_of(healthy)


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
    for seed in seeds(part):
        log = random_log(seed)
        features.update(log.features)

        found = verified(Directory(log.files, log.beside), log)

        assert not found.is_damaged, f"seed {seed}: {found}"
    assert features.keys() == FEATURES


def _nothing(*_: object, **__: object) -> list[object]:
    return []


@pytest.mark.fuzz
@pytest.mark.parametrize(
    ("where", "mistake"),
    (
        ("transaction_index_checks.AbortMarker.is_borne_out", lambda *_: True),
        ("transaction_index_checks.AbortMarker.needs_entry", lambda *_: False),
        ("index_checks.IndexCheck._check_latest", _nothing),
        ("offset_order_checks.OffsetOrderCheck._compare_with_checkpoint", lambda *_: None),
        ("partition_verification.check_log_end", _nothing),
        ("partition_verification.check_ends", _nothing),
        ("producer_checks.ProducerCheck.check_snapshot", lambda *_: None),
    ),
    ids=lambda each: str(each).rpartition(".")[2] if isinstance(each, str) else "",
)
def test_planted_mistake_is_found(
    where: str, mistake: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"cordwood.workbench.verify.{where}", mistake)
    counts: Counter[str] = Counter()

    assert any(missed(seed, counts) for seed in range(PLANTED_LOGS))
