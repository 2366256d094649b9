"""The assignor `uniform` chooses its computation by the subscriptions."""

from cordwood.coordination.groups.consumer.assignors.uniform_assignor import UniformAssignor
from tests.unit.coordination.groups.consumer.assignors.assignor_samples import (
    assignment,
    parsed,
    spec,
)


def test_uniform_balances_equal_subscriptions() -> None:
    assert assignment(UniformAssignor(), spec("AB", (2,))) == parsed("A 1:0; B 1:1")


def test_uniform_balances_different_subscriptions() -> None:
    group = spec({"A": (1,), "B": ()}, (2,))

    assert assignment(UniformAssignor(), group) == parsed("A 1:0,1; B -")


def test_uniform_has_nothing_to_assign_without_members() -> None:
    assert UniformAssignor().assign(spec("", (3,))) == {}
