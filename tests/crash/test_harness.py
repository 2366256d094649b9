"""The harness bites: every planted mistake breaks a promise in one of the workloads."""

import pytest

from tests.crash.harness import Effort, run
from tests.crash.mistakes import CLEANING_MISTAKES, MISTAKES
from tests.crash.workloads import CLEANING_WORKLOADS, WORKLOADS

#: A workload that finds no mistake runs to its end, which takes 20 s of an idle core.
pytestmark = pytest.mark.timeout(300)

EFFORT = Effort(exhaustive=4, samples=4, every=3)


@pytest.mark.parametrize("name", MISTAKES)
def test_harness_finds_a_planted_bug(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MISTAKES[name](monkeypatch)

    assert any(run(workload, EFFORT, at_most=1).failures for workload in WORKLOADS.values())


@pytest.mark.parametrize("name", CLEANING_MISTAKES)
def test_harness_finds_a_planted_bug_of_cleaning(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    CLEANING_MISTAKES[name](monkeypatch)

    found = (run(each, EFFORT, at_most=1).failures for each in CLEANING_WORKLOADS.values())
    assert any(found)
