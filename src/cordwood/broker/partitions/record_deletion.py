"""Deletion of records on a client's request (Kafka: `Partition.deleteRecordsOnLeader`)."""

from cordwood.core.errors import PolicyViolationError
from cordwood.storage.log.log import Log
from cordwood.storage.manager.log_manager import LogManager


def delete_records(manager: LogManager, log: Log, *, to: int) -> int:
    """Advance the log start to an offset, -1 for the high watermark; return the log start.

    PolicyViolationError for a topic that is only compacted.
    """
    if log.config.is_compacted and not log.config.is_deleted:
        raise PolicyViolationError(
            f"records of {log.partition} cannot be deleted: its cleanup.policy is compact alone"
        )
    with manager.using(log):
        return log.delete_records(to)
