"""A library of sample kernels, made once by the program that makes all kernels."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from native.c_compiler import has_compiler
from native.fingerprint import ROOT
from native.library_file import load_library
from tests.native.samples import SAMPLES


@pytest.fixture(scope="session")
def sample_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the library of the sample kernels."""
    if not has_compiler():
        pytest.skip("there is neither a C compiler nor the wheel ziglang")
    library = tmp_path_factory.mktemp("native") / "_machine.abi3.so"
    command = [sys.executable, "-m", "native.make_kernels", str(library), "--modules", SAMPLES]
    subprocess.run(command, cwd=ROOT, check=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    return library


@pytest.fixture(scope="session", params=("x86-64-v2", ""))
def sample_library(request: pytest.FixtureRequest, sample_file: Path) -> ModuleType:
    """Return the library at each level that this machine runs; the empty level is the highest."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("CORDWOOD_CPU_LEVEL", request.param)
        return load_library(sample_file)
