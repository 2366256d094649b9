"""The clean shutdown marker is written by a clean close and removed durably."""

import pytest

from cordwood.storage.checkpoints.clean_shutdown_file import (
    CLEAN_SHUTDOWN,
    CleanShutdownFile,
    read_clean_shutdown,
    remove_clean_shutdown,
    write_clean_shutdown,
)
from cordwood.storage.files.atomic_write import read_whole, write_atomically
from cordwood.testing.memory_files import MemoryFiles

LOGS = "/logs"
PATH = f"{LOGS}/{CLEAN_SHUTDOWN}"


@pytest.fixture
def files() -> MemoryFiles:
    made = MemoryFiles()
    made.make_directory(LOGS)
    made.sync_directory("/")
    return made


@pytest.mark.parametrize("epoch", (-1, 0, 2**63 - 1))
def test_marker_has_the_broker_epoch_after_a_crash(files: MemoryFiles, epoch: int) -> None:
    write_clean_shutdown(files, LOGS, broker_epoch=epoch)

    files.crash()

    assert read_clean_shutdown(files, LOGS) == CleanShutdownFile(epoch)
    assert read_whole(files, PATH) == b'{"version":0,"brokerEpoch":%d}' % epoch


def test_marker_overwrites_an_earlier_one(files: MemoryFiles) -> None:
    write_clean_shutdown(files, LOGS, broker_epoch=1234567)

    write_clean_shutdown(files, LOGS)

    assert read_clean_shutdown(files, LOGS) == CleanShutdownFile(-1)


def test_removed_marker_stays_removed_after_a_crash(files: MemoryFiles) -> None:
    write_clean_shutdown(files, LOGS, broker_epoch=5)

    taken = remove_clean_shutdown(files, LOGS)
    files.crash()

    assert taken == CleanShutdownFile(5)
    assert remove_clean_shutdown(files, LOGS) is None
    assert files.list(LOGS) == []


@pytest.mark.parametrize(
    "content",
    (
        b"",
        b"{",
        b"\xff",
        b"[1]",
        b"{}",
        b'{"version":0,"brokerEpoch":null}',
        b'{"version":0,"brokerEpoch":true}',
        b'{"version":0,"brokerEpoch":"5"}',
        b"[" * 100_000,
    ),
)
def test_marker_counts_with_any_content(files: MemoryFiles, content: bytes) -> None:
    write_atomically(files, PATH, data=content)

    assert read_clean_shutdown(files, LOGS) == CleanShutdownFile(None)


def test_marker_may_have_fields_of_later_versions(files: MemoryFiles) -> None:
    write_atomically(files, PATH, data=b'{ "brokerEpoch": 7, "later": {}, "version": 9 }\n')

    assert read_clean_shutdown(files, LOGS) == CleanShutdownFile(7)
