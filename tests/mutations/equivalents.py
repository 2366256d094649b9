"""Mutants that change nothing, each with the reason why."""

from collections.abc import Mapping
from typing import Final

EQUIVALENT: Final[Mapping[str, str]] = {}
