"""The end of a log is compared with its checkpoints."""

import pytest

from cordwood.storage.checkpoints.checkpoint_files import (
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
)
from tests.unit.storage.reader_samples import name
from tests.unit.workbench.verified import damages, healthy, notes

END = 110
SYNCED = ("t-0", "fsynced records are missing at the end")
TAIL = ("110.snapshot", "the file shows that the log has lost its tail")
SEEN = ("t-0", "records below the high watermark are missing at the end")
BEYOND_END = "the log start offset is beyond the end: a broker would delete the log at startup"


@pytest.mark.parametrize(
    ("checkpoint", "offset", "wrong", "told"),
    (
        (RECOVERY_POINTS, END, [], []),
        (RECOVERY_POINTS, END + 1, [SYNCED], []),
        (HIGH_WATERMARKS, END, [], []),
        (HIGH_WATERMARKS, END + 1, [], [SEEN]),
        (LOG_START_OFFSETS, END, [], []),
        (
            LOG_START_OFFSETS,
            END + 1,
            [
                (
                    "t-0",
                    BEYOND_END,
                )
            ],
            [],
        ),
    ),
)
def test_checkpoint_beyond_the_end_is_reported(
    checkpoint: str, offset: int, wrong: list[tuple[str, str]], told: list[tuple[str, str]]
) -> None:
    files = healthy()
    files.create(f"/d/{checkpoint}").append(f"0\n1\nt 0 {offset}\n".encode())

    assert (damages(files), notes(files)) == (wrong, told)


def test_missing_last_segment_is_reported() -> None:
    files = healthy()
    files.create(f"/d/{RECOVERY_POINTS}").append(b"0\n1\nt 0 110\n")
    last = max(each for each in files.list("/d/t-0") if each.endswith(".log"))
    for each in files.list("/d/t-0"):
        if each.startswith(last.removesuffix(".log")):
            files.remove(f"/d/t-0/{each}")

    assert damages(files) == [SYNCED, TAIL]


def test_directory_with_another_name_has_no_checkpointed_offsets() -> None:
    files = healthy()
    files.create(f"/d/{RECOVERY_POINTS}").append(b"0\n1\nt 0 999\n")
    files.rename("/d/t-0", "/d/copy")

    assert damages(files, "/d/copy") == []


def test_damaged_checkpoint_and_single_segment_have_no_context() -> None:
    files = healthy()
    files.create(f"/d/{RECOVERY_POINTS}").append(b"0\n1\nt 0 999\n")
    files.create(f"/d/{HIGH_WATERMARKS}").append(b"0\n1\n")

    assert damages(files, f"/d/t-0/{name(0)}") == []
    assert damages(files) == [SYNCED]
