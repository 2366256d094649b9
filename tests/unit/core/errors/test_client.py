"""The leaves of `client`: each takes one message and belongs to one fault."""

import inspect

from cordwood.core.errors import ERRORS_BY_CODE, ClientFaultError, client


def test_leaves_have_their_branch_and_their_own_code() -> None:
    leaves = [
        leaf
        for _, leaf in inspect.getmembers(client, inspect.isclass)
        if leaf is not ClientFaultError
    ]

    assert all(leaf.__base__ is ClientFaultError for leaf in leaves)
    assert all(ERRORS_BY_CODE[leaf.code] is leaf for leaf in leaves)


def test_leaf_carries_code_and_message_when_raised() -> None:
    error = client.OffsetOutOfRangeError("why")

    assert (error.code, error.retriable, str(error)) == (1, False, "why")
