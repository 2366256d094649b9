"""File of a library: loaded as a module of this process, without the package around it."""

import subprocess
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

from native.fingerprint import ROOT, fingerprint


def load_library(file: Path) -> ModuleType:
    """Load a library; raise ImportError if it is missing, or not for this machine."""
    spec = spec_from_loader("_machine", ExtensionFileLoader("_machine", str(file)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_current(file: Path) -> bool:
    """Return whether a library exists, is for this machine, and was made from this tree.

    It is loaded in a process of its own, which a damaged file can end with a signal.
    """
    command = [sys.executable, "-m", "native.library_file", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.strip() == fingerprint()


def main(file: str) -> None:
    """Print the fingerprint of a library."""
    try:
        print(load_library(Path(file)).FINGERPRINT)
    except ImportError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main(sys.argv[1])
