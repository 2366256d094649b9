"""The README's table and picture of speed are those of docs/figures.toml."""

from pathlib import Path

import pytest

from scripts.figures_page import PICTURE, README, ROOT, figures, picture, readme


def test_figures_of_the_readme_are_current() -> None:
    is_current = README.read_text() == readme() and PICTURE.read_text() == picture()

    assert is_current, "run python -m scripts.figures_page"


@pytest.mark.parametrize("command", sorted({each.command for each in figures()}))
def test_command_of_a_figure_exists(command: str) -> None:
    _, _, module, *flags = command.split()

    source = Path(ROOT, *module.split(".")).with_suffix(".py").read_text()

    assert "__main__" in source
    assert all(each in source for each in flags)
