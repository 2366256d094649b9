"""Hypothesis profiles, tier marks, reported figures and the time of each tier.

Profiles: `dev` at the desk, `ci` in `make test-all`, `long` in `make soak`. A tier is a folder: a
test outside the slow folders, and without a slow mark, belongs to the fast tier. Tests run in
workers (pytest-xdist); tiers and figures reach the controller as properties of the reports.
"""

import gc
import logging
import os
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from cordwood.records.kernels.kernel_library import LIBRARY
from native.fingerprint import fingerprint
from tests.loop_guard import HELD_UP, SLOW_CALL_MS, BlockingCall, HeldUpHandler, guarded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cordwood.core.settings import SettingValue
    from cordwood.testing.kafka_fixture import Kafka

# Two cores are shared with other work, so one slow example proves nothing: pytest's own timeout
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

# A shell starts background jobs with SIGINT ignored, `nohup` with SIGHUP; tests that send them need
# the default, and so do the processes that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

pytest_plugins = ("tests.spark_session", "tests.emulated_python", "tests.hanging_tests")

#: The mark of each slow folder. The Makefile names the same folders and marks.
FOLDERS = {
    "crash": "crash",
    "interop": "interop",
    "fuzz": "fuzz",
    "robustness": "robustness",
    "spark": "spark",
    "benchmarks": "bench",
}
#: The first task waits for the start of Spark and of its workers.
SPARK_TIMEOUT_S = 300
TIER = "tier"
FIGURE = "figure"
HELD = "held up"
SHOWN_HELD_UP = 20
FIGURES: list[str] = []
HELD_UP_IN_ALL: list[str] = []
SECONDS: defaultdict[str, float] = defaultdict(float)


def pytest_configure() -> None:
    """Reject a library of kernels that was made from other sources than those of this tree."""
    if LIBRARY is not None and LIBRARY.fingerprint != fingerprint():
        pytest.exit("the library of kernels is stale: run native/make_kernels.py, or remove it", 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark a test by its folder, and note its tier for the report."""
    tests = Path(__file__).parent
    for item in items:
        if not item.path.is_relative_to(tests):
            continue
        mark = FOLDERS.get(item.path.relative_to(tests).parts[0])
        if mark:
            item.add_marker(mark)
        if item.get_closest_marker("spark") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SPARK_TIMEOUT_S))
        tiers = (mark for mark in FOLDERS.values() if item.get_closest_marker(mark))
        item.user_properties.append((TIER, next(tiers, "fast")))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add set-up, call and tear-down to the test's tier, and collect its figures."""
    for name, value in report.user_properties:
        if name == TIER:
            SECONDS[str(value)] += report.duration
        elif name == FIGURE and report.when == "teardown":
            FIGURES.append(str(value))
        elif name == HELD and report.when == "teardown":
            HELD_UP_IN_ALL.append(f"{report.nodeid}: {value}")


@pytest.fixture(scope="session")
def blocking_calls() -> Iterator[list[BlockingCall]]:
    """Yield the list to which every call is added that blocks an event loop of this process."""
    found: list[BlockingCall] = []
    reports = logging.getLogger("cordwood.broker.process.loop_watchdog")
    reports.addHandler(HeldUpHandler())
    with guarded(found.append):
        yield found


@pytest.fixture(autouse=True)
def _collection_as_before() -> Iterator[None]:
    """Undo what a command changes of the garbage collector, for the tests after it."""
    threshold = gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    gc.enable()


@pytest.fixture(autouse=True)
def _event_loops_are_guarded(
    blocking_calls: list[BlockingCall], request: pytest.FixtureRequest
) -> Iterator[None]:
    """Fail a test in which Cordwood's code blocked the loop that it ran on."""
    yield
    request.node.user_properties.extend((HELD, line) for line in HELD_UP)
    HELD_UP.clear()
    found, blocking_calls[:] = tuple(blocking_calls), ()
    if found:
        pytest.fail("\n".join(map(str, found)), pytrace=False)


@pytest.fixture
def kafka_broker(kafka_broker: "Callable[..., Kafka]") -> "Callable[..., Kafka]":
    """Return the function that starts a broker, which reports long callbacks."""

    def start(*, config: "Mapping[str, SettingValue] | None" = None, **options: object) -> "Kafka":
        key, limit_ms = SLOW_CALL_MS
        return kafka_broker(config={key: limit_ms, **(config or {})}, **options)

    return start


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Return a function that takes a line for the end of the run."""
    properties = request.node.user_properties

    def add(line: str) -> None:
        properties.append((FIGURE, line))

    return add


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures, and the time of each tier.

    `make test-all` names in CORDWOOD_TIMES a file with the steps that ran before, one a line.
    """
    if FIGURES:
        terminalreporter.section("figures")
    for line in FIGURES:
        terminalreporter.write_line(line)
    if HELD_UP_IN_ALL:
        terminalreporter.section("callbacks that held up an event loop for 20 ms, no failure")
    for line in HELD_UP_IN_ALL[:SHOWN_HELD_UP]:
        terminalreporter.write_line(line)
    if len(HELD_UP_IN_ALL) > SHOWN_HELD_UP:
        terminalreporter.write_line(f"and {len(HELD_UP_IN_ALL) - SHOWN_HELD_UP} more")
    steps = os.environ.get("CORDWOOD_TIMES")
    if not steps and len(SECONDS) < 2:
        return
    terminalreporter.section("time of each tier")
    if steps:
        terminalreporter.write(Path(steps).read_text())
    for tier, seconds in SECONDS.items():
        terminalreporter.write_line(f"{tier:<24} {seconds:7.1f} s, added up over the workers")
