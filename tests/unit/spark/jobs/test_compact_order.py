"""An order says how much one task takes, and all that an order of one process says."""

from cordwood.spark.jobs.compact_order import PART_BYTES, WHOLE_BYTES, CompactJobOrder
from cordwood.workbench.compact import CompactOrder


def test_order_is_that_of_one_process_if_nothing_else_is_said() -> None:
    order = CompactJobOrder()

    assert isinstance(order, CompactOrder)
    assert (order.wishes, order.verify) == (CompactOrder().wishes, CompactOrder().verify)


def test_task_takes_less_memory_than_a_process_that_is_alone() -> None:
    assert CompactJobOrder().memory_bytes < CompactOrder().memory_bytes


def test_log_that_is_shared_out_has_some_parts() -> None:
    assert WHOLE_BYTES > 2 * PART_BYTES
