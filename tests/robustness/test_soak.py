"""A soak in virtual time: after days in which everything came and went, a broker holds what it held
before.

The small form has eight hours; `make soak` has thirty days.
"""

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import pytest

from tests.robustness import soak_leaks
from tests.robustness.soak_broker import SoakBroker
from tests.robustness.soak_census import census_of, census_of_process, growth
from tests.robustness.soak_life import SoakLife, settings_of_soak, write_keystore
from tests.unit.broker.conftest import Identity, identity, other_identity

__all__ = ("identity", "other_identity")

SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"
HOURS: Final = 30 * 24 if SOAK else 8
#: The hour after the sixth is the first that deletes segments. After a week the internal topics
#: have rolled their first segment: from then on they keep a cleaned one and the active one.
WARM_UP_HOURS: Final = 8 * 24 if SOAK else 7
#: Hours with a planted leak, after as many without a census.
PLANTED_HOURS: Final = 3
RESIDENT_SLACK_KB: Final = 32_000
#: Kinds of the process that a stopped broker must have returned.
RETURNED: Final = ("descriptor ", "threads", "tasks")

Leak = Callable[[], AbstractContextManager[None]]


class Soaked(NamedTuple):
    """The growth over the hours, the growth over the life of the broker, and what came."""

    grown: dict[str, int]
    left: dict[str, int]
    counts: Counter[str]


def resident_kb() -> int:
    line = next(
        each for each in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in each
    )
    return int(line.split()[1])


def soaked(
    place: Path,
    identities: tuple[Identity, ...],
    *,
    hours: int,
    warm_up_hours: int,
    leak: Leak = nullcontext,
    has_groups: bool = True,
) -> Soaked:
    """Run a broker for some hours, and compare it with itself before them."""
    keystore, folder = place / "broker.pem", place / "data"
    write_keystore(keystore, identities[0])
    folder.mkdir()

    async def scene() -> Soaked:
        start = census_of_process()
        broker = SoakBroker(folder, settings_of_soak(keystore))
        await broker.start()
        life = SoakLife(broker, keystore, identities)
        life.has_groups = has_groups
        await life.begin()
        with leak():
            await life.live(warm_up_hours)
            await life.drain()
            before, came = census_of(broker), life.counts.copy()
            await life.live(hours)
            await life.drain()
            grown = growth(before, census_of(broker))
        await life.end()
        await broker.stop()
        left = growth(start, census_of_process())
        return Soaked(
            grown,
            {kind: count for kind, count in left.items() if kind.startswith(RETURNED)},
            life.counts - came,
        )

    with asyncio.Runner() as runner:
        return runner.run(scene())


def test_broker_holds_after_days_what_it_held_before(
    place: Path,
    identity: Identity,
    other_identity: Identity,
    report: Callable[[str], None],
) -> None:
    before_kb = resident_kb()

    found = soaked(place, (identity, other_identity), hours=HOURS, warm_up_hours=WARM_UP_HOURS)

    came = ", ".join(f"{count:,} {kind}" for kind, count in sorted(found.counts.items()))
    more_kb = resident_kb() - before_kb
    report(f"soak, {HOURS} virtual hours: {came}; resident memory {more_kb:+,} KB")
    assert (found.grown, found.left) == ({}, {})
    assert more_kb < RESIDENT_SLACK_KB


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder in memory if the system has one: an fsync costs nothing there."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)


@pytest.fixture(autouse=True)
def _no_lines_are_kept(caplog: pytest.LogCaptureFixture) -> None:
    """Keep pytest from collecting the log, which would grow."""
    caplog.set_level(logging.CRITICAL, logger="cordwood")


@pytest.mark.parametrize(
    ("leak", "kind"),
    (
        (soak_leaks.kept_sessions, "object cordwood.broker.partitions.fetch_sessions.FetchSession"),
        (soak_leaks.endless_tasks, "tasks"),
        (soak_leaks.open_descriptors, "descriptor socket"),
        (
            soak_leaks.kept_producers,
            "object cordwood.storage.producers.producer_state_entry.ProducerStateEntry",
        ),
        (soak_leaks.kept_labels, 'series cordwood_produced_bytes_total{topic="visitor-'),
        (soak_leaks.kept_files, "file visitor-"),
    ),
    ids=lambda each: getattr(each, "__name__", None),
)
def test_soak_finds_a_planted_leak(
    place: Path, identity: Identity, other_identity: Identity, leak: Leak, kind: str
) -> None:
    found = soaked(
        place,
        (identity, other_identity),
        hours=PLANTED_HOURS,
        warm_up_hours=PLANTED_HOURS,
        leak=leak,
        has_groups=False,
    )

    assert [each for each in found.grown if each.startswith(kind)]
