"""The harness bites: every planted mistake breaks a promise in one of the workloads."""

import pytest

from tests.crash.harness import Effort, run
from tests.crash.mistakes import MISTAKES
from tests.crash.workloads import WORKLOADS

EFFORT = Effort(exhaustive=4, samples=4, every=3)


@pytest.mark.parametrize("name", MISTAKES)
def test_harness_finds_a_planted_mistake(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MISTAKES[name](monkeypatch)

    found = [
        failure
        for workload in WORKLOADS.values()
        for failure in run(workload, EFFORT, at_most=1).failures
    ]

    assert found
