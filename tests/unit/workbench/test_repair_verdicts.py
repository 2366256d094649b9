"""Verdicts of salvage and reindex; `tests/test_damage_verdicts.py` compares all commands."""

import pytest

from cordwood.core.errors import LogDirectoryError
from cordwood.core.ports import Ports
from cordwood.records.batch_checks import PlainBatchChecker
from cordwood.storage.log_config import LogConfig
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench.reindex import ReindexReport
from cordwood.workbench.repair_verdicts import reindex_with_verdict, salvage_with_verdict
from cordwood.workbench.salvage.salvage_report import SalvageReport
from cordwood.workbench.verify.findings import Verdict
from cordwood.workbench.verify.segment_verification import VerifyOptions
from tests.unit.storage.log_samples import DIRECTORY, batch
from tests.unit.storage.reader_samples import directory
from tests.unit.workbench.verified import healthy

TORN = bytes(batch(2)) + bytes(batch(2, at=2))[:-3]


def salvaged(files: MemoryFiles) -> SalvageReport:
    ports = Ports(files=files, clock=VirtualClock(), random=SeededRandom(1))
    return salvage_with_verdict(ports, DIRECTORY, out="/out")


def reindexed(files: MemoryFiles) -> ReindexReport:
    options = VerifyOptions(checker=PlainBatchChecker())
    return reindex_with_verdict(files, DIRECTORY, config=LogConfig(), now_ms=1, options=options)


def test_salvage_reaches_the_verdict_on_the_source() -> None:
    data = batch(1) + batch(1, at=1)
    data[62] ^= 1

    assert salvaged(healthy()).verdict is Verdict.WHOLE
    assert salvaged(directory(log=bytes(data))).verdict is Verdict.REPAIRABLE
    assert salvaged(directory(log=TORN)).verdict is Verdict.UNVERIFIED


def test_reindex_reaches_the_verdict_from_before() -> None:
    assert reindexed(healthy()).verdict is Verdict.WHOLE


def test_reindex_of_a_torn_tail_names_salvage() -> None:
    with pytest.raises(LogDirectoryError, match=r"run: cordwood log salvage .* --out NEWDIR"):
        reindexed(directory(log=TORN))
