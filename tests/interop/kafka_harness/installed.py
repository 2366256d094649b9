"""Other clients' packages, which `requirements/peers.txt` installs."""

import importlib
import os
from types import ModuleType

import pytest


def peer(name: str) -> ModuleType:
    """Import the package of another client; without it, skip the module, or fail with CI=true."""
    if os.environ.get("CI") != "true":
        pytest.importorskip(name, reason=f"{name} is not installed (requirements/peers.txt)")
    return importlib.import_module(name)
