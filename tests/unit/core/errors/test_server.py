"""The leaves of `server`: each takes one message and belongs to one fault."""

from cordwood.core.errors import ERRORS_BY_CODE, ServerFaultError, server


def test_leaves_grow_on_one_branch() -> None:
    leaves = [leaf for leaf in ERRORS_BY_CODE.values() if leaf.__module__ == server.__name__]

    assert leaves
    assert {leaf.__base__ for leaf in leaves} == {ServerFaultError}


def test_leaf_carries_code_and_message_when_raised() -> None:
    error = server.RequestTimedOutError("why")

    assert (error.code, error.retriable, str(error)) == (7, True, "why")
