"""Settings of Spark that save time in each batch of a stream (docs/streaming.md)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

#: Python tasks over unix sockets; a session has it from its start.
UNIX_SOCKETS: Final = "spark.python.unix.domain.socket.enabled"
#: The writer of the files of a checkpoint; a query has it from its start.
CHECKPOINT_MANAGER: Final = "spark.sql.streaming.checkpointFileManagerClass"
#: The manager for paths on local disks; HDFS and S3 need Spark's default.
LOCAL_MANAGER: Final = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
#: Both, for a session whose checkpoints are on local disks.
SHORT_BATCHES: Final[Mapping[str, str]] = MappingProxyType(
    {UNIX_SOCKETS: "true", CHECKPOINT_MANAGER: LOCAL_MANAGER}
)
