"""A crash at any write breaks no promise."""

import os
import sys

import pytest

from cordwood.storage.producers import snapshot_files
from tests.crash.harness import Effort, run
from tests.crash.losses import KINDS
from tests.crash.workloads import CLEANING_WORKLOADS, WORKLOADS

SOAK = bool(os.environ.get("CORDWOOD_SOAK"))
EFFORT = Effort() if SOAK else Effort(exhaustive=5, samples=6)


ALL = {**WORKLOADS, **CLEANING_WORKLOADS}


@pytest.mark.timeout(7200 if SOAK else 300)
@pytest.mark.parametrize("name", ALL)
def test_crash_violates_no_guarantee(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    _ensure_guarantees(name, capsys)


@pytest.mark.timeout(7200 if SOAK else 300)
@pytest.mark.parametrize("name", ("transactions", "truncation", "retention"))
def test_crash_violates_no_guarantee_with_many_producers(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The snapshot of each roll is saved behind the roll."""
    monkeypatch.setattr(snapshot_files, "SMALL", -1)

    _ensure_guarantees(name, capsys)


def _ensure_guarantees(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = run(ALL[name], EFFORT, at_most=5)

    with capsys.disabled():
        sys.stdout.write(f"\n{name}: {outcome}\n")
    assert not outcome.failures, "\n".join(outcome.failures)
    assert min(outcome.write_points, outcome.crashes, outcome.twice) > 0
    assert min(outcome.torn[kind] for kind in KINDS) > 0
