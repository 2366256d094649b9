"""An open log continues in another directory, and with other files."""

from cordwood.storage.files.open_file_cache import OpenFileCache
from tests.unit.storage.log_samples import LogHarness, filled, fives, offsets, read


def test_log_continues_in_another_directory() -> None:
    harness = LogHarness()
    log = filled(harness.open(fives()), 7, epoch=1)

    log.move("/d/t-0.0123456789abcdef0123456789abcdef-future")
    filled(log, 5, epoch=2)
    log.flush()

    assert log.directory.endswith("-future")
    assert offsets(read(log, 6)) == [(6, 6), (7, 7), (8, 8), (9, 9)]
    assert f"{10:020}.snapshot" in harness.files.list(log.directory)
    assert harness.files.list("/d") == [log.directory.removeprefix("/d/")]


def test_log_that_is_moved_syncs_its_files_where_they_are_now() -> None:
    harness = LogHarness()
    log = filled(harness.open(), 2)
    job = log.begin_flush()
    assert job is not None
    log.abort_flush(job)

    log.move("/d/u-0")
    again = log.begin_flush()

    assert again is not None
    assert all(path.startswith("/d/u-0/") for path in again.paths)


def test_log_continues_with_the_files_of_another_cache() -> None:
    harness = LogHarness()
    log = filled(harness.open(fives()), 7)
    table = OpenFileCache(harness.files, 3)

    log.use(table)
    filled(log, 4)

    assert table.open_count == 3
    assert offsets(read(log, 6)) == [(6, 6), (7, 7), (8, 8), (9, 9)]

    log.forget_files()
    assert table.open_count == 0
