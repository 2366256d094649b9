"""The leaves of `outdated`: each takes one message and belongs to one fault."""

from cordwood.core.errors import ERRORS_BY_CODE, OutdatedError, outdated


def test_leaves_grow_on_one_branch() -> None:
    leaves = [leaf for leaf in ERRORS_BY_CODE.values() if leaf.__module__ == outdated.__name__]

    assert leaves
    assert {leaf.__base__ for leaf in leaves} == {OutdatedError}


def test_leaf_carries_code_and_message_when_raised() -> None:
    error = outdated.NotLeaderOrFollowerError("why")

    assert (error.code, error.retriable, str(error)) == (6, True, "why")
