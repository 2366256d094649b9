"""Reduction of a failing script to the steps that it needs (delta debugging).

Parts of the script are left out, from halves to single steps, as long as the rest fails in the same
way. The delays of the other frames change with each step, so a smaller part may fail again where a
larger one did not.
"""

from collections.abc import Callable
from typing import Final

from tests.simulation.cluster.cluster_script import ClusterScript, Step
from tests.simulation.cluster.cluster_simulation import ClusterFailed, run_cluster_script

MOST_RUNS: Final = 200


def reduced(failure: ClusterFailed, *, most_runs: int = MOST_RUNS) -> ClusterScript:
    """Return a script with fewer steps that violates the same invariant."""
    setup, steps = failure.script
    runs = 0

    def fails(left: tuple[Step, ...]) -> bool:
        nonlocal runs
        runs += 1
        return _violates(ClusterScript(setup, left), failure.invariant)

    part = len(steps) // 2
    while part and runs < most_runs:
        steps, is_smaller = _without_parts(
            steps, part, lambda left: runs < most_runs and fails(left)
        )
        part = part if is_smaller and part == 1 else part // 2
    return ClusterScript(setup, steps)


def _without_parts(
    steps: tuple[Step, ...], part: int, fails: Callable[[tuple[Step, ...]], bool]
) -> tuple[tuple[Step, ...], bool]:
    """Return the steps that remain, and whether a part of this size was left out."""
    at, before = 0, len(steps)
    while at < len(steps):
        left = steps[:at] + steps[at + part :]
        if fails(left):
            steps = left
        else:
            at += part
    return steps, len(steps) < before


def _violates(script: ClusterScript, invariant: str) -> bool:
    try:
        run_cluster_script(script)
    except ClusterFailed as failure:
        return failure.invariant == invariant
    return False
