"""The name of a sink: from an option, or from the id of the query in its checkpoint.

    stream   transactionalIdPrefix   the name itself
             checkpointLocation      cordwood-<query id>, where the file `metadata` has the id
    write    jobId                   <prefix>-<job id>
             none                    <prefix>-<random>, without an intent record: a program that is
                                     run again writes again

The prefix of a batch write is transactionalIdPrefix, by default cordwood-job or cordwood-write. It
does not identify a write: many writes of a program that has rights for one prefix share it.

A name is never guessed for a stream: a restart with another name would not find what an earlier
run has left.
"""

import json
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, UUID, uuid4, uuid5

from cordwood.core.errors import SettingError
from cordwood.spark.runtime.local_path import find_local_path
from cordwood.spark.sink.exactly_once.sink_names import SinkNames
from cordwood.spark.sink.sink_options import SinkOptions

_PREFIX: Final = "cordwood"


def stream_names(options: SinkOptions) -> SinkNames:
    """Return the names of a streaming sink; SettingError if they are unknown."""
    if options.transactional_id_prefix is not None:
        return SinkNames(options.transactional_id_prefix)
    if options.checkpoint is None:
        raise _unnamed("the option checkpointLocation is not set on the sink")
    return sink_of_checkpoint(options.checkpoint)


def sink_of_checkpoint(checkpoint: str) -> SinkNames:
    """Return the names of the sink of a query without a name of its own."""
    return SinkNames(f"{_PREFIX}-{query_id_of(checkpoint)}")


def job_names(options: SinkOptions) -> SinkNames:
    """Return the names of a batch write."""
    prefix = options.transactional_id_prefix
    if options.job_id is not None:
        return SinkNames(f"{prefix or f'{_PREFIX}-job'}-{options.job_id}")
    return SinkNames(f"{prefix or f'{_PREFIX}-write'}-{uuid4()}")


def job_query_id(options: SinkOptions, names: SinkNames) -> UUID:
    """Return the id that stands for a query's in the record of a batch write."""
    return uuid5(NAMESPACE_URL, f"{_PREFIX}-job:{options.job_id or names.sink}")


def query_id_of(checkpoint: str) -> UUID:
    """Return the id of the query of a checkpoint on a local disk."""
    folder = find_local_path(checkpoint)
    if folder is None:
        raise _unnamed(f"the checkpoint {checkpoint} is not on a local disk")
    path = Path(folder, "metadata")
    try:
        return UUID(str(json.loads(path.read_text(encoding="utf-8"))["id"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unnamed(f"{path} has no query id ({error})") from error


def _unnamed(problem: str) -> SettingError:
    return SettingError(
        f"the exactly-once sink has no name: {problem}",
        key="transactionalIdPrefix",
        remedy="set the option transactionalIdPrefix to a name that only this query has, and keep"
        " it over restarts; or set delivery=at-least-once",
    )
