"""How much a task of a job takes, and which tasks come first."""

from typing import NamedTuple

from cordwood.spark.jobs.chores import bytes_of, chores, gathered


class Thing(NamedTuple):
    size: int


def sizes(tasks: list[list[Thing]]) -> list[list[int]]:
    return [[thing.size for thing in task] for task in tasks]


def test_runs_have_so_many_bytes_or_are_one() -> None:
    things = [Thing(60), Thing(40), Thing(500), Thing(1)]

    assert sizes(list(gathered(things, 100))) == [[60, 40], [500], [1]]


def test_small_things_share_a_task_and_the_largest_come_first() -> None:
    assert sizes(chores([Thing(10), Thing(20), Thing(90)], 100)) == [[90], [10, 20]]


def test_nothing_makes_no_task() -> None:
    assert chores([], 100) == []


def test_bytes_are_those_of_all() -> None:
    assert bytes_of([Thing(3), Thing(4)]) == 7
