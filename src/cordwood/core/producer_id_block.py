"""Last allocated block of producer ids, a node of the metadata (Kafka: `ProducerIdBlockZNode`).

    /latest_producer_id_block
        {"version":1,"broker":1,"block_start":"4000","block_end":"4999"}      both ends included

An id that was handed out is never handed out again: a log takes the first batches of its next
producer for duplicates of the former one's, acknowledges them and does not write them.
"""

import json
from typing import Final

from cordwood.core.errors import DamagedFileError

BLOCK_SIZE: Final = 1000
BLOCK_PATH: Final = "/latest_producer_id_block"


def format_block(block: range, broker_id: int) -> bytes:
    """Return the stored form of a block."""
    content = {
        "version": 1,
        "broker": broker_id,
        "block_start": str(block.start),
        "block_end": str(block.stop - 1),
    }
    return json.dumps(content, separators=(",", ":")).encode()


def next_producer_id(latest: bytes | None) -> int:
    """Return the first id after `latest`, the stored block; 0 without one."""
    return 0 if latest is None else _end_of(latest) + 1


def _end_of(latest: bytes) -> int:
    """Return the last id of a block; Kafka writes its numbers as text."""
    try:
        return int(json.loads(latest)["block_end"])
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFileError(
            "not a block of producer ids",
            path=BLOCK_PATH,
            remedy="restore the metadata from a backup, so that used ids are not handed out again",
        ) from error
