"""The delete horizon: how long a tombstone or a transaction marker outlives its first cleaning.

Kafka: `Cleaner.shouldRetainRecord`, `RecordBatch.deleteHorizonMs`, KIP-534.

    1st pass   finds a tombstone that is the latest of its key, or a marker without a batch of its
               transaction; the batch gets a horizon, `delete.retention.ms` after this pass
    later      keeps it while the horizon is in the future
    then       drops it

So a tombstone survives two passes at least. The first pass that retains a tombstone in a batch sets
the horizon of the whole batch: it replaces the base timestamp, and an attribute bit marks it. A
batch that has a horizon keeps it.

Batches of the old formats cannot have a horizon. Their tombstones go once their segment was last
modified at or before the plan's legacy horizon. A rewrite converts these batches to v2, and sets a
horizon if a tombstone is among the retained records.

`kernels.row_verdicts` and `kernels.row_output` are the compiled twins of these rules.
"""

from collections.abc import Sequence
from enum import Enum, auto

from cordwood.compaction.plan.cleaning_plan import CleaningPlan, SourceSegment
from cordwood.core.binary import INT64_MAX
from cordwood.storage.log_config import LogConfig


def new_delete_horizon_ms(plan: CleaningPlan) -> int:
    """Return the horizon that a pass sets; times end with that of Kafka's clock."""
    return min(INT64_MAX, plan.now_ms + plan.config.delete_retention_ms)


class HorizonState(Enum):
    """The state of the horizon for the tombstones, or the discardable marker, of a v2 batch."""

    #: No horizon yet: the pass retains them and sets one.
    UNSET = auto()
    #: The horizon is in the future: the pass retains them and the horizon.
    PENDING = auto()
    #: The horizon is reached: the pass drops them.
    REACHED = auto()


def horizon_state(horizon_ms: int | None, now_ms: int) -> HorizonState:
    """Return the state of a batch's horizon; None stands for a batch without one."""
    if horizon_ms is None:
        return HorizonState.UNSET
    return HorizonState.REACHED if now_ms >= horizon_ms else HorizonState.PENDING


def legacy_horizon_ms(
    sources: Sequence[SourceSegment], first_dirty: int, *, config: LogConfig
) -> int:
    """Return the horizon for tombstones of the old formats, given segments from the oldest on.

    The last segment that is clean, or partly so, was written by the last cleaning; its modification
    time is the time of that cleaning. Without one the horizon is 0, and all tombstones stay.
    """
    clean = [each.modified_ms for each in sources if each.base_offset < first_dirty]
    return clean[-1] - config.delete_retention_ms if clean else 0


def is_legacy_horizon_reached(modified_ms: int, horizon_ms: int) -> bool:
    """Whether tombstones of the old formats may go from a segment with this modification time."""
    return modified_ms <= horizon_ms
