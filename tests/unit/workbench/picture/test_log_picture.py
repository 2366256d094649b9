"""The facts of a picture."""

import json

from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.picture.log_picture import PictureTransaction, read_picture
from tests.unit.storage.log_samples import DIRECTORY, LogHarness, batch, lead, produced


def picture_files() -> MemoryFiles:
    """Return a log of two segments with an open transaction, and its checkpoints."""
    place = LogHarness()
    log = place.open()
    lead(log, batch(3))
    log.roll()
    lead(log, produced(0, 2, is_transactional=True))
    log.close()
    files = place.files
    files.create("/d/replication-offset-checkpoint").append(b"0\n1\nt 0 4\n")
    files.create("/d/recovery-point-offset-checkpoint").append(b"0\n1\nt 0 5\n")
    files.create("/d/cleaner-offset-checkpoint").append(b"0\n1\nt 0 3\n")
    return files


def test_picture_has_segments_checkpoints_and_open_transactions() -> None:
    found = read_picture(picture_files(), DIRECTORY)

    assert [(each.base_offset, each.end_offset) for each in found.segments] == [(0, 3), (3, 5)]
    assert found.marks == {
        "log start": 0,
        "compacted to": 3,
        "recovery point": 5,
        "high watermark": 4,
        "open transaction of producer 1": 3,
        "log end": 5,
    }
    assert found.size == sum(each.size for each in found.segments)
    assert json.loads(found.to_json())["transactions"] == [{"producer_id": 1, "first_offset": 3}]
    assert found.transactions == (PictureTransaction(1, 3),)
