"""Tests of the ports and engines of a node."""

from dataclasses import replace

import pytest

from cordwood.core.ports import Lane
from cordwood.core.system import ThreadWorker
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.node.node_samples import runtime_over


def test_default_ports_serve_a_broker_without_engines() -> None:
    runtime = runtime_over(MemoryFiles())

    assert runtime.host == "localhost"
    assert runtime.lost_log_lines() == 0
    assert runtime.check_start() is None


def test_closed_runtime_accepts_no_work() -> None:
    worker = ThreadWorker(1, ready=[Lane.BACKGROUND])
    runtime = replace(runtime_over(MemoryFiles()), cleaner_worker=worker)

    runtime.close()

    with pytest.raises(RuntimeError):
        worker.submit(lambda: None, lane=Lane.BACKGROUND)
