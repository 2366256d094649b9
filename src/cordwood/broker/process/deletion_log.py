"""Log lines and counters of deleted segments (Kafka: the lines of `SegmentDeletionReason`)."""

import logging

from cordwood.observability.logs import fields
from cordwood.observability.metrics import Metrics
from cordwood.storage.manager.deleted_ranges import DeletedRange

_log = logging.getLogger(__name__)


def report_deletion(metrics: Metrics, deleted: DeletedRange) -> None:
    """Count the segments of one log and one reason, and write their line."""
    metrics.counter("cordwood_deleted_segments_total", deleted.reason).add(deleted.segments)
    metrics.counter("cordwood_deleted_bytes_total", deleted.reason).add(deleted.bytes)
    _log.info(
        "segments deleted",
        extra=fields(
            partition=str(deleted.partition),
            reason=deleted.reason,
            first_offset=deleted.first_offset,
            end_offset=deleted.end_offset,
            segments=deleted.segments,
            bytes=deleted.bytes,
        ),
    )
