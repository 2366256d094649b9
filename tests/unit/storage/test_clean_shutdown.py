"""The mark of an orderly close: seen once, and gone for good before anything is opened."""

import pytest

from cordwood.storage.atomic import read_whole, write_atomically
from cordwood.storage.clean_shutdown import (
    CLEAN_SHUTDOWN,
    CleanShutdown,
    read_clean_shutdown,
    take_clean_shutdown,
    write_clean_shutdown,
)
from cordwood.testing.files import MemoryFiles

LOGS = "/logs"
PATH = f"{LOGS}/{CLEAN_SHUTDOWN}"


@pytest.fixture
def files() -> MemoryFiles:
    made = MemoryFiles()
    made.make_directory(LOGS)
    made.sync_directory("/")
    return made


@pytest.mark.parametrize("epoch", (-1, 0, 2**63 - 1))
def test_mark_tells_the_broker_epoch_after_a_crash(files: MemoryFiles, epoch: int) -> None:
    write_clean_shutdown(files, LOGS, broker_epoch=epoch)

    files.crash()

    assert read_clean_shutdown(files, LOGS) == CleanShutdown(epoch)
    assert read_whole(files, PATH) == b'{"version":0,"brokerEpoch":%d}' % epoch


def test_mark_is_written_over_an_old_one(files: MemoryFiles) -> None:
    write_clean_shutdown(files, LOGS, broker_epoch=1234567)

    write_clean_shutdown(files, LOGS)

    assert read_clean_shutdown(files, LOGS) == CleanShutdown(-1)


def test_mark_that_was_taken_does_not_come_back_by_a_crash(files: MemoryFiles) -> None:
    write_clean_shutdown(files, LOGS, broker_epoch=5)

    taken = take_clean_shutdown(files, LOGS)
    files.crash()

    assert taken == CleanShutdown(5)
    assert take_clean_shutdown(files, LOGS) is None
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
def test_mark_counts_whatever_it_contains(files: MemoryFiles, content: bytes) -> None:
    write_atomically(files, PATH, data=content)

    assert read_clean_shutdown(files, LOGS) == CleanShutdown(None)


def test_mark_may_have_fields_of_later_versions(files: MemoryFiles) -> None:
    write_atomically(files, PATH, data=b'{ "brokerEpoch": 7, "later": {}, "version": 9 }\n')

    assert read_clean_shutdown(files, LOGS) == CleanShutdown(7)
