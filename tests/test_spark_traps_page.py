"""The page of Spark's traps names tests that there are, and every test that is about a trap."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "spark-traps.md"
#: The files of tests that are all about traps.
TRAPS = ("test_traps.py", "test_stream_traps.py")


def defined_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}


def rows() -> dict[int, list[str]]:
    """Return the tests of each trap."""
    found = re.findall(r"^\| (\d+) \|.*\|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {int(number): re.findall(r"`(test_\w+)`", tests) for number, tests in found}


def test_page_has_a_row_for_every_trap_with_tests() -> None:
    assert list(rows()) == list(range(1, 34))
    assert [number for number, tests in rows().items() if not tests] == []


def test_page_names_existing_tests_and_all_tests_of_a_trap() -> None:
    named = {name for tests in rows().values() for name in tests}
    text = "\n".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    defined = [name for file in TRAPS for name in defined_in(TESTS / "spark" / file)]
    about = {name for name in defined if "test_" in name}

    assert named <= set(re.findall(r"^def (test_\w+)\(", text, re.MULTILINE))
    assert about <= named
