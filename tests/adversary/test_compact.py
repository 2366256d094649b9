"""`compact` against random logs: the oracle's survivors, a right directory and certificate."""

import os
from collections import Counter
from collections.abc import Callable
from itertools import cycle

import pytest

from cordwood.compaction.cleaning_job import Verify
from cordwood.compaction.engine.cleaned_transaction_metadata import MarkerState
from cordwood.compaction.plan.delete_horizon import HorizonState
from cordwood.workbench.certificate_check import check_certificate
from cordwood.workbench.compact import CompactOrder
from cordwood.workbench.topic_settings_lookup import SettingsFinder
from cordwood.workbench.verify.verify import verify
from tests.adversary.compact_oracle import committed_of, compacted, order_of, survivors
from tests.adversary.random_logs import FEATURES, random_log
from tests.adversary.verify_oracle import SOURCE, placed
from tests.adversary.witness_damages import directory_of
from tests.unit.workbench.compact_samples import PLAIN_READERS

SOAK = os.environ.get("CORDWOOD_SOAK") == "1"
LOGS = 100_000 if SOAK else 2_000
FIRST = int(os.environ.get("CORDWOOD_FIRST_SEED", "0"))
PARTS = 4
PLANTED_LOGS = 200
TRANSACTIONS = "compaction.engine.cleaned_transaction_metadata.CleanedTransactionMetadata"
#: Words for the orders; each has to occur.
ORDERS = frozenset(
    {"up to an offset", "from the start", "rolled", *(each.value for each in Verify)}
)


def fault(seed: int, counts: Counter[str], how: Verify) -> str:
    """Compact the log of a seed; return what is wrong with the result, "" if nothing is."""
    log = random_log(seed)
    files, order = placed(directory_of(log)), order_of(log, how)
    counts.update((*log.features, *words_of(order)))
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
            files, SOURCE, certificate=done.report.certificate, readers=PLAIN_READERS
        )
        if checked.is_wrong:
            return f"seed {seed}: {order}: {checked}"
    return ""


def words_of(order: CompactOrder) -> list[str]:
    """Return words for the options of an order."""
    options = order.pass_options
    given = {
        "up to an offset": options.until is not None,
        "from the start": options.is_from_start,
        "rolled": order.is_rolled,
    }
    return [order.verify.value, *(word for word, is_given in given.items() if is_given)]


@pytest.mark.fuzz
@pytest.mark.timeout(36_000 if SOAK else 180)
@pytest.mark.parametrize("part", range(PARTS))
def test_survivors_are_those_of_the_oracle(part: int) -> None:
    counts: Counter[str] = Counter()
    ways = cycle(Verify)

    seeds = range(FIRST + part, FIRST + LOGS, PARTS)
    wrong = [words for seed in seeds if (words := fault(seed, counts, next(ways)))]

    assert wrong == []
    assert min(counts[name] for name in ("nothing to do", "passes", "removed")) > len(seeds) // 20
    assert counts.keys() >= FEATURES | ORDERS


@pytest.mark.fuzz
@pytest.mark.parametrize(
    ("where", "mistake"),
    (
        ("compaction.engine.record_marks.Marks.is_latest", lambda *_: True),
        ("compaction.engine.record_marks.Marks.is_latest", lambda _, number: number % 7 != 3),
        ("compaction.engine.plain_rewriter.horizon_state", lambda *_: HorizonState.REACHED),
        (f"{TRANSACTIONS}.on_batch_read", lambda *_: False),
        (f"{TRANSACTIONS}.on_control_batch_read", lambda *_: MarkerState(is_discardable=True)),
    ),
    ids=(
        "all records stay",
        "some records go",
        "tombstones go at once",
        "aborted records stay",
        "all markers go",
    ),
)
def test_planted_mistake_is_found(
    where: str, mistake: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"cordwood.{where}", mistake)
    counts: Counter[str] = Counter()

    assert any(fault(seed, counts, Verify.NEVER) for seed in range(PLANTED_LOGS))
