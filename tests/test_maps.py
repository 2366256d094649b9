"""The maps of the code are true: each path in them exists, and each module is in one of them."""

import re
from pathlib import Path

import pytest

from scripts import module_index

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "cordwood"
PATH = re.compile(r"`((?:[a-z_0-9]+/)*(?:[a-z_0-9]+\.py|[a-z_0-9]+/))`")
MAPS = ("docs/kafka-map.md", "ARCHITECTURE.md")


def paths(text: str) -> set[str]:
    """Return the paths in backticks that name modules or folders."""
    return set(PATH.findall(text))


@pytest.mark.parametrize("page", MAPS)
def test_every_path_of_a_map_exists(page: str) -> None:
    found = paths((ROOT / page).read_text())

    places = (PACKAGE, ROOT, PACKAGE / "workbench")
    missing = {each for each in found if not any((place / each).exists() for place in places)}

    assert len(found) > 30
    assert missing == set()


def test_every_module_is_in_a_map() -> None:
    found = set().union(*(paths((ROOT / page).read_text()) for page in MAPS))

    modules = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")}
    unnamed = {
        each
        for each in modules - found
        if not each.endswith("__init__.py") and not each.startswith(module_index.LEFT_OUT)
    }

    assert unnamed == set()


def test_module_index_is_current() -> None:
    assert module_index.PAGE.read_text() == module_index.page()


def test_kafka_map_has_at_least_sixty_rows() -> None:
    by_hand = module_index.PAGE.read_text().split(module_index.HEADING)[0]

    rows = [line for line in by_hand.splitlines() if line.startswith("| ") and ".py`" in line]

    assert len(rows) >= 60


@pytest.mark.parametrize(
    ("docstring", "sentence"),
    (
        ("One noun. And a rule.", "One noun"),
        (
            "Frames (Kafka: `NetworkSend`), sans-IO.\n\nRules.",
            "Frames (Kafka: `NetworkSend`), sans-IO",
        ),
        ("A table over\ntwo lines.", "A table over two lines"),
    ),
)
def test_first_sentence_of_a_docstring(docstring: str, sentence: str) -> None:
    assert module_index.first_sentence(docstring) == sentence
