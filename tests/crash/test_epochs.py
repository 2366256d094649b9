"""No leader epoch and offset ever has two contents, and published leader epochs never fall."""

import os
import sys

import pytest

from tests.crash.epoch_harness import KINDS, Effort, run
from tests.crash.epoch_mistakes import MISTAKES_WITH_EPOCHS

SOAK = bool(os.environ.get("CORDWOOD_SOAK"))
EFFORT = Effort() if SOAK else Effort(every=4, samples=4)
#: A mistake is found early, or the run takes as long as the one without a mistake.
FINDING = Effort(every=5, samples=8)

pytestmark = pytest.mark.timeout(7200 if SOAK else 300)


def test_leader_epochs_identify_records_through_every_crash(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcome = run(EFFORT, at_most=5)

    with capsys.disabled():
        sys.stdout.write(f"\nleader epochs: {outcome}\n")
    assert not outcome.failures, "\n".join(outcome.failures)
    assert min(outcome.counts[kind] for kind in KINDS) > 0


@pytest.mark.parametrize("name", MISTAKES_WITH_EPOCHS)
def test_harness_finds_a_planted_mistake(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MISTAKES_WITH_EPOCHS[name](monkeypatch)

    assert run(FINDING, at_most=1).failures
