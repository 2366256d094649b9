"""The leaves of `client`: each takes one message and belongs to one fault."""

from cordwood.core.errors import ERRORS_BY_CODE, ClientFaultError, client


def test_leaves_grow_on_one_branch() -> None:
    leaves = [leaf for leaf in ERRORS_BY_CODE.values() if leaf.__module__ == client.__name__]

    assert leaves
    assert {leaf.__base__ for leaf in leaves} == {ClientFaultError}


def test_leaf_carries_code_and_message_when_raised() -> None:
    error = client.OffsetOutOfRangeError("why")

    assert (error.code, error.retriable, str(error)) == (1, False, "why")
