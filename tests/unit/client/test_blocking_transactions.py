"""Every call of the asyncio producer about transactions has a blocking twin."""

import inspect

import pytest

from cordwood.client.blocking_transactions import BlockingTransactions
from cordwood.client.producer.producer import Producer


@pytest.mark.parametrize("name", ("init", "begin", "send_offsets", "commit", "abort", "detach"))
def test_call_has_the_same_parameters(name: str) -> None:
    theirs = inspect.signature(getattr(Producer, name))

    assert inspect.signature(getattr(BlockingTransactions, name)) == theirs
