"""File of a library: loaded as a module of this process, without the package around it."""

from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

from native.fingerprint import fingerprint


def load_library(file: Path) -> ModuleType:
    """Load a library; raise ImportError if it is missing, or not for this machine."""
    spec = spec_from_loader("_machine", ExtensionFileLoader("_machine", str(file)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_current(file: Path) -> bool:
    """Return whether a library exists, is for this machine, and was made from this tree."""
    try:
        return bool(fingerprint() == load_library(file).FINGERPRINT)
    except ImportError:
        return False
