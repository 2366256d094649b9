"""The leaves of `access`: each takes one message and belongs to one fault."""

from cordwood.core.errors import ERRORS_BY_CODE, AccessError, access


def test_leaves_grow_on_one_branch() -> None:
    leaves = [leaf for leaf in ERRORS_BY_CODE.values() if leaf.__module__ == access.__name__]

    assert leaves
    assert {leaf.__base__ for leaf in leaves} == {AccessError}


def test_leaf_carries_code_and_message_when_raised() -> None:
    error = access.TopicAuthorizationFailedError("why")

    assert (error.code, error.retriable, str(error)) == (29, False, "why")
