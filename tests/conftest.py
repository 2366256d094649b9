"""How hard Hypothesis looks, what tests have to report, and how long each tier took.

Profiles: `dev` at the desk, `ci` in `make test-all`, `long` in `make soak`. A tier is a folder:
what lies in none of the slow ones is the fast tier.
"""

import os
import signal
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Two cores are shared with other work, so one slow example says nothing: pytest's own timeout
# bounds the whole test instead.
settings.register_profile("dev", deadline=None, max_examples=60)
settings.register_profile("ci", deadline=None, max_examples=300)
settings.register_profile(
    "long",
    deadline=None,
    max_examples=5_000,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

# A run that a shell has put into the background ignores Ctrl-C; what tests press it for does not.
signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ("tests.spark_session",)

FOLDERS = {
    "crash": "crash",
    "interop": "interop",
    "fuzz": "fuzz",
    "robustness": "robustness",
    "spark": "spark",
    "benchmarks": "bench",
}
#: Kernels may have to be compiled before the first task has an answer.
SPARK_TIMEOUT_S = 300
REPORTED = pytest.StashKey[list[str]]()
SECONDS: defaultdict[str, float] = defaultdict(float)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test's folder decides its mark."""
    tests = Path(__file__).parent
    for item in items:
        if not item.path.is_relative_to(tests):
            continue
        mark = FOLDERS.get(item.path.relative_to(tests).parts[0])
        if mark:
            item.add_marker(mark)
        if item.get_closest_marker("spark") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SPARK_TIMEOUT_S))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Set-up, call and tear-down all count for the tier of the test."""
    tier = next((mark for mark in FOLDERS.values() if mark in report.keywords), "fast")
    SECONDS[tier] += report.duration


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Take a line for the end of the run."""
    return request.config.stash.setdefault(REPORTED, []).append


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """`make test-all` ran the fast tier before and says how long that took, set-up included."""
    lines = config.stash.get(REPORTED, [])
    if lines:
        terminalreporter.section("figures")
    for line in lines:
        terminalreporter.write_line(line)
    fast = os.environ.get("CORDWOOD_FAST_SECONDS")
    tiers = [(tier, seconds) for tier, seconds in SECONDS.items() if tier != "fast" or not fast]
    if fast:
        tiers.insert(0, ("fast", float(fast)))
    if len(tiers) > 1:
        terminalreporter.section("time of each tier")
        for tier, seconds in tiers:
            terminalreporter.write_line(f"{tier:<8} {seconds:7.1f} s")
