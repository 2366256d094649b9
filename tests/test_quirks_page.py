"""The page of quirks names tests that there are, and every test that is named for a quirk."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "quirks.md"


def test_page_has_a_row_for_every_quirk() -> None:
    rows = re.findall(r"^\| (\d+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert [int(row) for row in rows] == list(range(1, 31))


def test_page_names_existing_tests_and_all_tests_of_a_quirk() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text(encoding="utf-8")))
    sources = [path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")]
    defined = {name for source in sources for name in re.findall(r"def (test_\w+)", source)}

    assert named <= defined
    assert {name for name in defined if name.startswith("test_quirk_")} <= named
