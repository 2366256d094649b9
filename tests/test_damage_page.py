"""docs/damage.md is generated from the kinds of damage, and has rows of every kind of log."""

from tests.damage.healthy_logs import HEALTHY
from tests.damage.outcomes import verification
from tests.damage.page import PAGE, page
from tests.damage.rows import kinds

LEAST_ROWS = 60


def test_damage_page_is_current() -> None:
    fresh = PAGE.read_text(encoding="utf-8") == page()

    assert fresh, "run python -m tests.damage.page"


def test_damage_page_covers_all_logs() -> None:
    rows = [kind for kind in kinds() if not kind.is_harmless]

    assert len(rows) >= LEAST_ROWS
    assert {kind.log for kind in rows} == set(HEALTHY)


def test_legal_oddities_are_no_damage() -> None:
    wrong = [kind.title for kind in kinds() if kind.is_harmless]
    alarms = [
        f"{kind.log}: {kind.title}"
        for kind in kinds()
        if kind.is_harmless and verification(kind.apply()[1]).is_damaged
    ]

    assert wrong
    assert alarms == []
