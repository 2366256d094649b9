"""The version is the same in the package and in the project file."""

import tomllib
from pathlib import Path

import cordwood
from cordwood.core.version import __version__

PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def test_version_is_that_of_the_project() -> None:
    declared = tomllib.loads(PROJECT.read_text())["project"]["version"]

    assert cordwood.__version__ == __version__ == declared
