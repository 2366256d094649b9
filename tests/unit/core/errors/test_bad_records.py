"""The leaves of `bad_records`: each takes one message and belongs to one fault."""

from cordwood.core.errors import ERRORS_BY_CODE, BadRecordsError, bad_records


def test_leaves_grow_on_one_branch() -> None:
    leaves = [leaf for leaf in ERRORS_BY_CODE.values() if leaf.__module__ == bad_records.__name__]

    assert leaves
    assert {leaf.__base__ for leaf in leaves} == {BadRecordsError}


def test_leaf_carries_code_and_message_when_raised() -> None:
    error = bad_records.InvalidRecordError("why")

    assert (error.code, error.retriable, str(error)) == (87, False, "why")
