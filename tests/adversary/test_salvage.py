"""Salvage of random logs with random damage, judged by an oracle in plain Python.

`CORDWOOD_SOAK=1` tries 100,000 logs. A violation names the seed, which repeats it.
"""

import os
from collections import Counter
from itertools import islice
from typing import Final

import pytest

from tests.adversary.damages import DAMAGES, LOST_CHECKPOINTS, DamagedLog, damaged
from tests.adversary.random_logs import random_log
from tests.adversary.rare_mistakes import RARE
from tests.adversary.salvage_mistakes import CHOSEN, MISTAKES
from tests.adversary.salvage_oracle import files_of, salvaged, violations

SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"
LOGS: Final = 100_000 if SOAK else 2_000
FIRST: Final = int(os.environ.get("CORDWOOD_FIRST_SEED", "0"))
PARTS: Final = 4
#: Logs within which a planted mistake has to be found.
MOST: Final = 800
#: Logs for each combination of chosen kinds of damage.
CHOSEN_LOGS: Final = 250

_OUTSIDE: Final = "outside of checksums"
#: Seeds of random damage that a salvage was once wrong with.
RANDOM_ONCE_WRONG: Final = (
    *(4010, 5910, 26988, 42637, 62806, 69132, 69588, 73936, 74632, 76304, 93808, 95966, 110827),
    *(
        82270,
        85131,
        128388,
        139267,
        117232,
        121758,
        122982,
        130693,
        78820,
        94299,
        94554,
        108420,
        135381,
        141541,
        143998,
        105367,
        87751,
        119858,
        111169,
    ),
    *(
        200965,
        202360,
        219531,
        226510,
        230051,
        331600,
        410158,
        421434,
        502488,
        524729,
        533320,
        543777,
    ),
)
#: The same with chosen kinds of damage, and those.
ONCE_WRONG: Final = (
    *((seed, ()) for seed in RANDOM_ONCE_WRONG),
    *((seed, (_OUTSIDE, "header")) for seed in (59, 87, 168, 214, 247)),
    *((seed, (_OUTSIDE, "lost segment")) for seed in (29, 121)),
    (168, (_OUTSIDE, "marker")),
    (29, ("segment of a replica", "lost segment")),
    (224, ("zeroed page",)),
    (236, ("marker", "burst")),
    (26, (_OUTSIDE, "duplicated segment")),
    (186, (_OUTSIDE, "burst")),
    (169, ("marker", "marker", "header")),
    *((seed, ("torn file", _OUTSIDE)) for seed in (233, 32447)),
    (2118, (_OUTSIDE, "flipped bits")),
    *((seed, (_OUTSIDE, _OUTSIDE)) for seed in (2123, 32192, 33340)),
    *((seed, (_OUTSIDE, _OUTSIDE, "lost epochs")) for seed in (92, 154)),
    (661, ("false abort", "burst")),
    *((seed, ("false abort", "marker")) for seed in (279, 400)),
    *((78, ("false abort", kind)) for kind in ("header", "size")),
    *((397, ("false abort", kind)) for kind in ("burst", "zeroed page")),
    *((seed, ("false abort", "zeroed page")) for seed in (677, 4710)),
    *((seed, ("false abort", "burst")) for seed in (4415, 5562, 6305, 7275, 12908, 13264)),
    (2481, ("false abort", "size")),
    *((seed, ("false abort", "header")) for seed in (4280, 17034)),
    *((seed, ("bytes cut out",)) for seed in (1741, 2205, 1888, 14972)),
    *((seed, ("marker", _OUTSIDE)) for seed in (181, 1102, 10182, 14349, 15799)),
    *((seed, (_OUTSIDE, "burst")) for seed in (1688, 2370, 15396)),
    *((seed, (_OUTSIDE,)) for seed in (11755, 15931, 18301, 30634)),
)
#: Seeds, and base offsets of cleaned segments whose files are gone: they had the only marker of a
#: transaction.
GONE_SEGMENTS: Final = (*((41, 11), (570, 8), (902, 54), (951, 44), (1192, 1001), (224_155, 63)),)

pytestmark = [pytest.mark.fuzz, pytest.mark.timeout(20_000 if SOAK else 300)]


@pytest.mark.parametrize("part", range(PARTS))
def test_salvage_of_damaged_random_logs_is_right(part: int) -> None:
    injected: Counter[str] = Counter()

    for seed in range(FIRST + part, FIRST + LOGS, PARTS):
        log = random_log(seed)
        damage = damaged(log, 1)
        injected.update(damage.kinds)

        assert violations(log, damage) == [], f"log {seed}, {damage.kinds}"

    assert injected.keys() == {*DAMAGES, LOST_CHECKPOINTS}


@pytest.mark.parametrize("kinds", sorted({each.kinds for each in CHOSEN.values()}), ids=", ".join)
def test_salvage_of_chosen_damage_is_right(kinds: tuple[str, ...]) -> None:
    injected: Counter[str] = Counter()

    for seed in range(CHOSEN_LOGS):
        log = random_log(seed)
        damage = damaged(log, 1, kinds=kinds)
        injected.update(damage.kinds)

        assert violations(log, damage) == [], f"log {seed}, {damage.kinds}"

    assert injected.keys() == set(kinds)


@pytest.mark.parametrize(("seed", "kinds"), ONCE_WRONG)
def test_salvage_that_was_once_wrong_is_right(seed: int, kinds: tuple[str, ...]) -> None:
    log = random_log(seed)

    assert violations(log, damaged(log, 1, kinds=kinds)) == []


@pytest.mark.parametrize(("seed", "base"), GONE_SEGMENTS)
def test_salvage_without_the_segment_of_a_marker_is_right(seed: int, base: int) -> None:
    log = random_log(seed)
    damage = DamagedLog(log, dict(log.files), dict(log.beside))
    damage.remove_segment(f"{base:020}")

    assert violations(log, damage) == []


def test_salvage_of_undamaged_random_logs_finds_nothing() -> None:
    for seed in range(LOGS // 10):
        log = random_log(seed)
        result = salvaged(files_of(log.files, log.beside))

        assert result is not None
        report = result.report
        assert (report.lost, report.doubtful, report.mended, report.notes) == ((),) * 4, seed
        assert {each.content: each.state for each in log.records} == dict(
            result.records.values()
        ), seed


@pytest.mark.parametrize("mistake", MISTAKES)
def test_oracle_finds_a_planted_mistake(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MISTAKES[mistake](monkeypatch)

    logs = map(random_log, range(MOST))
    found = (violations(log, damaged(log, 1)) for log in logs)

    assert list(islice(filter(None, found), 1)), "no violation"


@pytest.mark.parametrize("mistake", CHOSEN)
def test_oracle_finds_a_mistake_by_chosen_damage(
    mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant, kinds = CHOSEN[mistake]
    plant(monkeypatch)

    logs = map(random_log, range(CHOSEN_LOGS))
    found = (violations(log, damaged(log, 1, kinds=kinds)) for log in logs)

    assert list(islice(filter(None, found), 1)), "no violation"


@pytest.mark.parametrize("mistake", RARE)
def test_oracle_finds_a_mistake_in_a_log_that_shows_it(
    mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rare = RARE[mistake]
    rare.plant(monkeypatch)

    log = random_log(rare.seed)

    assert violations(log, damaged(log, 1, kinds=rare.kinds)), "no violation"
