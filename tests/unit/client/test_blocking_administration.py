"""Every call of the asyncio admin client about groups and transactions has a blocking twin."""

import inspect

import pytest

from cordwood.client.admin.group_administration import GroupAdministration
from cordwood.client.admin.transaction_administration import TransactionAdministration
from cordwood.client.blocking_administration import BlockingAdministration

NAMES = [
    name
    for kind in (GroupAdministration, TransactionAdministration)
    for name in vars(kind)
    if not name.startswith("_")
]


@pytest.mark.parametrize("name", NAMES)
def test_call_has_the_same_parameters(name: str) -> None:
    kind = GroupAdministration if hasattr(GroupAdministration, name) else TransactionAdministration

    theirs = inspect.signature(getattr(kind, name))

    assert inspect.signature(getattr(BlockingAdministration, name)) == theirs
