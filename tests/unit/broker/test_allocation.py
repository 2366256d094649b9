"""A process that is a broker keeps what it frees."""

import ctypes
import platform
import subprocess
import sys

import pytest

from cordwood.broker.allocation import keep_freed_memory

# Frames of 1 MB, one after the other; a page is 4 KB, so each that is taken anew faults 256 times.
FAULTS = """
import resource
from cordwood.broker.allocation import keep_freed_memory
assert keep_freed_memory()
bytearray(1 << 20)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(100):
    bytearray(1 << 20), bytearray(1 << 20)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")
def test_large_buffers_are_not_taken_anew_each_time() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAULTS], check=True, capture_output=True, text=True
    )

    assert int(done.stdout) < 100 * 256


def test_library_that_cannot_be_told_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())

    assert not keep_freed_memory()
