"""Loads rise level by level from below, and fall level by level from above."""

from cordwood.coordination.groups.consumer.assignors.member_loads import MemberLoads


def test_lowest_level_receives_before_the_next_one() -> None:
    sizes = [2, 0, 1]
    loads = MemberLoads(sizes, [0, 1, 2])

    received = list[int]()
    for _ in range(6):
        member = loads.next_least()
        sizes[member] += 1
        received.append(member)

    assert received == [1, 1, 2, 1, 2, 0]


def test_highest_level_gives_before_the_next_one() -> None:
    sizes = [2, 0, 3]
    loads = MemberLoads(sizes, [0, 1, 2])

    given = list[int | None]()
    for _ in range(3):
        member = loads.next_most()
        assert member is not None
        sizes[member] -= 1
        given.append(member)

    assert given == [2, 2, 0]


def test_excluded_members_give_nothing() -> None:
    loads = MemberLoads([1, 3], [0, 1])

    assert loads.next_most() == 1
    loads.exclude_most()

    assert loads.next_most() == 0
    loads.exclude_most()
    assert loads.next_most() is None


def test_loads_are_balanced_within_one() -> None:
    loads = MemberLoads([1, 2], [0, 1])

    assert loads.imbalance == 1
    loads.next_least()
    loads.next_most()
    assert loads.is_balanced()
