"""High watermarks of partition directories: the offsets that a failover cannot truncate.

Kafka: `ReplicaManager.highWatermarkCheckpoints`. The records of a directory can be read up to:

    one replica, by the metadata of its log directory    the log end
    a log directory without a checkpoint                 the log end
    the partition of Kafka's metadata                    the log end: it is in no checkpoint
    otherwise                                            the checkpointed high watermark

With other replicas among the sources it is always the checkpointed one: the log ends of replicas
can differ, and without a checkpoint the directory is rejected.

A partition without an entry in the checkpoint has the high watermark 0, as in Kafka. A checkpoint
is a few seconds old at most while a broker runs, so it is only too low. A file is read once per log
directory, before the ends of the logs in it.
"""

from collections.abc import Callable, Collection
from functools import cache
from typing import Final, TypeAlias

from cordwood.core.errors import DamagedFileError, LogDirectoryError
from cordwood.core.ports import Files
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.storage.checkpoints.checkpoint_files import HIGH_WATERMARKS, read_offset_checkpoint
from cordwood.storage.checkpoints.partition_metadata_file import read_partition_metadata
from cordwood.storage.files.atomic_write import directory_of, exists
from cordwood.storage.metadata.metadata_lookup import METADATA_LOG
from cordwood.storage.metadata.replica_counts import ReplicaCounts, read_replica_counts
from cordwood.storage.reader.path_resolution import partition_of

#: Returns the replica counts of a log directory.
CountsOf: TypeAlias = Callable[[str], ReplicaCounts]

_ONE_REPLICA: Final = 1


class HighWatermarks:
    """The high watermarks of the partitions in some log directories, as of their first use.

    The partitions of `replicated` have more than one directory among the sources.
    """

    def __init__(
        self,
        files: Files,
        counts_of: CountsOf | None = None,
        *,
        replicated: Collection[TopicPartition] = (),
    ) -> None:
        self._files = files
        self._replicated = replicated
        self._checkpoint_of = cache(self._read_checkpoint)
        self._counts_of = cache(counts_of or self._read_counts)

    def limit_of(self, path: str) -> int | None:
        """Return the high watermark of a partition directory; None without such a limit.

        Raise DamagedFileError for a damaged checkpoint, LogDirectoryError for a directory with
        other replicas that has none.
        """
        partition, log_directory = partition_of(path), directory_of(path)
        if partition is None or str(partition) == METADATA_LOG:
            return None
        offsets = self._checkpoint_of(log_directory)
        is_replicated = partition in self._replicated
        if is_replicated and offsets is None:
            raise LogDirectoryError(
                f"has no {HIGH_WATERMARKS}, and {partition} has other replicas",
                path=log_directory,
                remedy="leave it out: the end of its committed records is unknown",
            )
        if offsets is None:
            return None
        if not is_replicated and self._count_of(path, partition) == _ONE_REPLICA:
            return None
        return max(0, offsets.get(partition, 0))

    def _count_of(self, path: str, partition: TopicPartition) -> int | None:
        return self._counts_of(directory_of(path))(partition, self._topic_id(path))

    def _read_checkpoint(self, log_directory: str) -> dict[TopicPartition, int] | None:
        path = f"{log_directory}/{HIGH_WATERMARKS}"
        if not exists(self._files, path):
            return None
        return {**read_offset_checkpoint(self._files, path)}

    def _read_counts(self, log_directory: str) -> ReplicaCounts:
        return read_replica_counts(self._files, log_directory)

    def _topic_id(self, path: str) -> Uuid | None:
        try:
            return read_partition_metadata(self._files, path)
        except DamagedFileError:
            return None
