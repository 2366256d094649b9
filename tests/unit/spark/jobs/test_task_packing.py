"""Packing of items into tasks, and the order of tasks."""

from typing import NamedTuple

from cordwood.spark.jobs.task_packing import group_by_bytes, pack_tasks, total_bytes


class Thing(NamedTuple):
    size: int


def sizes(tasks: list[list[Thing]]) -> list[list[int]]:
    return [[thing.size for thing in task] for task in tasks]


def test_groups_have_at_most_the_limit_or_one_item() -> None:
    things = [Thing(60), Thing(40), Thing(500), Thing(1)]

    assert sizes(list(group_by_bytes(things, 100))) == [[60, 40], [500], [1]]


def test_small_items_share_a_task_and_large_tasks_are_first() -> None:
    assert sizes(pack_tasks([Thing(10), Thing(20), Thing(90)], 100)) == [[90], [10, 20]]


def test_no_items_need_no_task() -> None:
    assert pack_tasks([], 100) == []


def test_total_is_that_of_all_items() -> None:
    assert total_bytes([Thing(3), Thing(4)]) == 7
