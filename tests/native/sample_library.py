"""The library of sample kernels, as a module."""

from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

SAMPLES = "tests.native.sample_kernels"


def load(library: Path) -> ModuleType:
    """Load a library from a file."""
    spec = spec_from_loader("_machine", ExtensionFileLoader("_machine", str(library)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
