"""The files of an attempt are adopted into the log, or removed."""

import errno

from cordwood.compaction.passes.attempt_directories import (
    adopt_attempt,
    create_attempt,
    remove_attempt,
    remove_attempts,
)
from cordwood.testing.file_faults import FileFault
from cordwood.testing.memory_files import MemoryFiles

NAME = "00000000000000000000.log.cleaned"
TOKEN = bytes(range(8))


def files_with_an_attempt() -> tuple[MemoryFiles, str]:
    files = MemoryFiles()
    files.make_directory("/t-0")
    attempt = create_attempt(files, "/t-0", token=TOKEN)
    files.create(f"{attempt}/{NAME}").append(b"batches")
    return files, attempt


def test_attempt_directory_is_in_the_partition_directory() -> None:
    files, attempt = files_with_an_attempt()

    assert attempt == "/t-0/cleaning-0001020304050607"
    assert files.list("/t-0") == ["cleaning-0001020304050607"]


def test_adopted_files_move_to_the_log_and_the_attempt_directory_is_removed() -> None:
    files, attempt = files_with_an_attempt()

    adopt_attempt(files, attempt, directory="/t-0")

    assert files.list("/t-0") == [NAME]


def test_only_unadopted_attempts_are_removed() -> None:
    files, _ = files_with_an_attempt()
    create_attempt(files, "/t-0", token=bytes(8))
    files.make_directory("/t-0/cleaning-up")
    files.create(f"/t-0/{NAME}")

    remove_attempts(files, "/t-0")

    assert files.list("/t-0") == [NAME, "cleaning-up"]


def test_attempt_that_cannot_be_removed_keeps_no_other_from_going() -> None:
    files, attempt = files_with_an_attempt()
    create_attempt(files, "/t-0", token=bytes(8))
    files.script.add(FileFault(on="remove", path=f"{attempt}/{NAME}", code=errno.EIO))

    remove_attempts(files, "/t-0")

    assert files.list("/t-0") == ["cleaning-0001020304050607"]


def test_one_attempt_is_removed_by_its_path() -> None:
    files, attempt = files_with_an_attempt()

    remove_attempt(files, attempt)

    assert files.list("/t-0") == []
