"""Commit markers that are still readable in a damaged range, although their batches are not whole.

The end of a marker's batch is the same for each commit, except for the producer and the epochs:

    producer id 8 | producer epoch 2 | sequence -1, one record | the record, whose key is a COMMIT

No checksum confirms it, so it proves no commit. But an abort entry of an index that names the same
marker is not certain either.
"""

import re
from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from cordwood.core.binary import Buffer
from cordwood.records.record_batch import MAGIC

_OFFSET: Final = Struct(">q")
#: Size, leader epoch and magic, behind the offset.
_BEGIN: Final = Struct(">8xi4xb")
_SIZE: Final = 66
_PRODUCER_ID_AT: Final = 43
_SEQUENCE_AT: Final = 53
#: The sequence, the record count, the record up to its key, the key, the length of the value.
_COMMIT: Final = re.compile(
    re.escape(b"\xff\xff\xff\xff\0\0\0\1" + b"\x20\0\0\0\x08" + b"\0\0\0\1" + b"\x0c")
)


class DamagedCommit(NamedTuple):
    """A commit marker in a damaged range; its offset is None if the header begins with damage."""

    producer_id: int
    offset: int | None


def find_commits(data: Buffer) -> Iterator[DamagedCommit]:
    """Yield the commit markers in the bytes of a damaged range."""
    for found in _COMMIT.finditer(data):
        start = found.start() - _SEQUENCE_AT
        if start + _PRODUCER_ID_AT >= 0:
            producer_id = _OFFSET.unpack_from(data, start + _PRODUCER_ID_AT)[0]
            is_begun = start >= 0 and _BEGIN.unpack_from(data, start) == (_SIZE, MAGIC)
            offset = _OFFSET.unpack_from(data, start)[0] if is_begun else None
            yield DamagedCommit(producer_id, offset)
