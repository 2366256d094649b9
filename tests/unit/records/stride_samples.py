"""Small batches to stride over."""

from cordwood.core.binary import INT32_MAX
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.tail_scan import ScanState

FOOTING = ScanState(0, INT32_MAX, 1 << 20, 0, -1, 0)
NOBODY = BatchFields(partition_leader_epoch=0)
PRODUCER = NOBODY._replace(producer_id=7, producer_epoch=0, base_sequence=0)


def batch(at: int, fields: BatchFields = NOBODY, *, count: int = 1, timestamp: int = 5) -> bytes:
    builder = BatchBuilder(fields._replace(base_offset=at))
    for _ in range(count):
        builder.append(b"key", b"value", timestamp=timestamp)
    return bytes(builder.build())


SIZE = len(batch(0))
