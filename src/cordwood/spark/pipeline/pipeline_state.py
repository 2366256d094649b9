"""State of a pipeline, from its checkpoint and its table; no session is needed.

new        it has never finished a batch
finished   its last batch is in the sink and in the checkpoint
planned    its last batch is in the checkpoint, and the next run repeats or finishes it
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cordwood.core.errors import SettingError
from cordwood.spark.pipeline.pipeline_definition import KafkaSink, Pipeline
from cordwood.spark.pipeline.table_writer import open_batch_table
from cordwood.spark.runtime.local_path import find_local_path
from cordwood.spark.stream.checkpoint_offsets import Checkpoint, read_checkpoint

_METADATA: Final = "metadata"
#: The entries of a checkpoint (Spark: `StreamingCheckpointConstants`).
_OF_SPARK: Final = (_METADATA, "offsets", "commits", "sources", "state")
#: Other entries that an error names.
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineState:
    """The last batch of a pipeline, and the last one in its table."""

    name: str
    checkpoint: Checkpoint | None = None
    table_batch: int | None = None

    @property
    def state(self) -> str:
        """The state, in one word."""
        if self.checkpoint is None:
            return "new"
        return "finished" if self.checkpoint.is_finished else "planned"

    def rows(self) -> list[dict[str, object]]:
        """Return a row for each partition, or one for a pipeline without a batch."""
        found = self.checkpoint
        own: dict[str, object] = {"PIPELINE": self.name, "STATE": self.state}
        if found is None:
            return [own]
        own |= {"BATCH": found.batch}
        if self.table_batch is not None:
            own |= {"TABLE-BATCH": self.table_batch}
        return [
            {**own, "TOPIC": topic, "PARTITION": partition, "NEXT-OFFSET": offset}
            for _, end in sorted(found.ends.items())
            for (topic, partition), offset in sorted(end.positions.items())
        ]


def pipeline_state(pipeline: Pipeline) -> PipelineState:
    """Return the state of a pipeline; its checkpoint must be on a local path."""
    folder = _checkpoint_folder(pipeline)
    if not (folder / _METADATA).exists() or not any((folder / "offsets").glob("[0-9]*")):
        return PipelineState(name=pipeline.name)
    found = read_checkpoint(folder)
    if isinstance(pipeline.sink, KafkaSink):
        return PipelineState(name=pipeline.name, checkpoint=found)
    table = open_batch_table(pipeline.sink, found.query_id)
    last = table.last_batch(found.query_id)
    return PipelineState(
        name=pipeline.name, checkpoint=found, table_batch=None if last is None else last.batch
    )


def reset_pipeline(pipeline: Pipeline) -> bool:
    """Remove the checkpoint, so that the next run begins a new query; return whether there was one.

    The sink keeps its rows: the next run writes the rows of the source to it again.
    """
    folder = _checkpoint_folder(pipeline)
    if not folder.exists():
        return False
    # A query that ran during a reset leaves offsets without metadata.
    if not any((folder / name).exists() for name in _OF_SPARK):
        raise SettingError(
            f"{folder}: is not the checkpoint of a query",
            key="checkpoint",
            remedy="correct the option checkpoint",
        )
    others = sorted(each.name for each in folder.iterdir() if not _is_of_checkpoint(each))
    if others:
        raise SettingError(
            f"{folder}: has more than a checkpoint ({', '.join(others[:_SHOWN])}), which would be"
            " removed with it",
            key="checkpoint",
            remedy="move these files, or remove those of the checkpoint yourself:"
            f" {', '.join(_OF_SPARK)}",
        )
    shutil.rmtree(folder)
    return True


def _is_of_checkpoint(entry: Path) -> bool:
    """Return whether Spark writes an entry; checksums and temporary files begin with a dot."""
    return entry.name in _OF_SPARK or entry.name.startswith(".")


def _checkpoint_folder(pipeline: Pipeline) -> Path:
    folder = find_local_path(pipeline.checkpoint)
    if folder is None:
        raise SettingError(
            f"{pipeline.checkpoint}: a checkpoint that is not on a local path cannot be read here",
            key="checkpoint",
            remedy="use the tools of its file system",
        )
    return Path(folder)
