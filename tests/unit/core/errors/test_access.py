"""The leaves of `access`: each takes one message and belongs to one fault."""

import inspect

from cordwood.core.errors import ERRORS_BY_CODE, AccessError, access


def test_leaves_have_their_branch_and_their_own_code() -> None:
    leaves = [
        leaf for _, leaf in inspect.getmembers(access, inspect.isclass) if leaf is not AccessError
    ]

    assert all(leaf.__base__ is AccessError for leaf in leaves)
    assert all(ERRORS_BY_CODE[leaf.code] is leaf for leaf in leaves)


def test_leaf_carries_code_and_message_when_raised() -> None:
    error = access.TopicAuthorizationFailedError("why")

    assert (error.code, error.retriable, str(error)) == (29, False, "why")
