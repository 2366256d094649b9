"""A fault script affects the selected calls, as often as configured, and counts them."""

import errno
import inspect
import re

import pytest

from cordwood.testing import memory_files
from cordwood.testing.file_faults import CALLS, FaultScript, FileFault, PowerLoss
from cordwood.testing.virtual_clock import VirtualClock


def test_fault_hits_only_the_calls_it_names() -> None:
    script = FaultScript(VirtualClock())
    script.add(FileFault(on="sync*", path="*.log", first=2, times=1, code=errno.EIO))

    script.begin("sync", "/a.index")
    script.begin("sync", "/a.log")
    with pytest.raises(OSError, match=r"Input/output error: '/a.log'"):
        script.begin("sync", "/a.log")
    script.begin("sync", "/a.log")

    assert script.injected == {"sync": 1}


def test_fault_without_a_code_only_adds_a_delay() -> None:
    clock = VirtualClock()
    script = FaultScript(clock)
    script.add(FileFault(on="pread", code=0, delay_ms=30))

    assert script.begin("pread", "/a") is None
    assert clock.monotonic_ms() == 30


def test_fault_with_kept_bytes_is_returned_to_the_write() -> None:
    script = FaultScript(VirtualClock())
    fault = FileFault(on="append", kept=3)
    script.add(fault)

    assert script.begin("append", "/a", changes=True) is fault


def test_power_is_lost_after_a_number_of_changes_until_reset() -> None:
    script = FaultScript(VirtualClock())
    script.stop_after(1)

    script.begin("stat", "/a")
    script.begin("append", "/a", changes=True)
    with pytest.raises(PowerLoss):
        script.begin("stat", "/a")
    script.reset()
    script.begin("stat", "/a")

    assert script.write_points == 1


def test_fault_rejects_an_unknown_call() -> None:
    with pytest.raises(ValueError, match="unknown call 'apend'; the calls are append, "):
        FileFault(on="apend")


def test_calls_lists_every_call_of_the_script() -> None:
    sources = [inspect.getsource(memory_files), inspect.getsource(FaultScript.begin)]

    named = set(re.findall(r'(?:begin|_write)\("(\w+)"', "".join(sources)))

    assert named == set(CALLS)
