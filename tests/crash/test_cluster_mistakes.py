"""Planted mistakes of a cluster: the simulation finds each, and prints a script that repeats it.

The seed that has found a mistake before is tried first, so that CI runs one simulation for most of
them. The soak searches from the first seed on.
"""

import os
from collections.abc import Callable
from itertools import chain
from typing import Final

import pytest

from tests.simulation.cluster.cluster_mistakes import MISTAKES, ClusterMistake
from tests.simulation.cluster.cluster_script import parse_script
from tests.simulation.cluster.cluster_simulation import (
    ClusterFailed,
    run_cluster_script,
    run_cluster_seed,
)
from tests.simulation.cluster.script_reduction import reduced
from tests.simulation.seed_blocks import without_garbage_collection

#: The seeds in which a planted mistake has to be found.
SEEDS: Final = 1_000
_IS_SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"
_REDUCED: Final = "a follower truncates to its high watermark"


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("name", MISTAKES)
def test_planted_mistake_of_a_cluster_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch, report: Callable[[str], None]
) -> None:
    mistake = MISTAKES[name]

    with monkeypatch.context() as patch, without_garbage_collection():
        mistake.plant(patch)
        failure = first_failure(mistake)

    assert failure is not None, f"not found by {SEEDS} seeds"
    report(f"planted in a cluster: {name}: found by seed {failure.seed}, {failure.invariant!r}")
    assert failure.invariant in mistake.invariants, str(failure)
    run_cluster_seed(failure.seed)


def first_failure(mistake: ClusterMistake) -> ClusterFailed | None:
    """Return the failure of the first seed that has one."""
    for seed in chain(() if _IS_SOAK else (mistake.seed,), range(SEEDS)):
        try:
            run_cluster_seed(seed)
        except ClusterFailed as failure:
            return failure
    return None


@pytest.mark.timeout(1_200)
def test_printed_script_fails_as_its_seed_did(monkeypatch: pytest.MonkeyPatch) -> None:
    mistake = MISTAKES[_REDUCED]
    with monkeypatch.context() as patch:
        mistake.plant(patch)
        failure = first_failure(mistake)
        assert failure is not None

        script = parse_script(str(failure.script))
        with pytest.raises(ClusterFailed) as repeated:
            run_cluster_script(script)

    assert str(failure.script) in str(failure)
    assert repeated.value.script == script
    assert str(repeated.value) == str(failure)
    run_cluster_script(script)


@pytest.mark.timeout(1_200)
def test_reduced_script_has_the_steps_that_a_failure_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mistake = MISTAKES[_REDUCED]
    with monkeypatch.context() as patch:
        mistake.plant(patch)
        failure = first_failure(mistake)
        assert failure is not None

        script = reduced(failure)

        assert len(script.steps) < len(failure.script.steps) / 4
        with pytest.raises(ClusterFailed) as repeated:
            run_cluster_script(parse_script(str(script)))
    assert repeated.value.invariant == failure.invariant
    run_cluster_script(script)
