"""Options of the job `compact`: those of one process, and the limits of a task."""

from cordwood.spark.jobs.compaction.compact_order import PART_BYTES, WHOLE_BYTES, CompactJobOrder
from cordwood.workbench.compact import CompactOrder


def test_options_default_to_those_of_one_process() -> None:
    order = CompactJobOrder()

    assert isinstance(order, CompactOrder)
    assert (order.pass_options, order.verify) == (
        CompactOrder().pass_options,
        CompactOrder().verify,
    )


def test_task_uses_less_memory_than_a_single_process() -> None:
    assert CompactJobOrder().memory_bytes < CompactOrder().memory_bytes


def test_distributed_log_has_several_parts() -> None:
    assert WHOLE_BYTES > 2 * PART_BYTES
