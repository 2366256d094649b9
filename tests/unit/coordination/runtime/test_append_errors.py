"""Tests of the errors of an append, as clients get them."""

import pytest

from cordwood.coordination.runtime.append_errors import coordinator_error, reload_error
from cordwood.core.errors import error_for_code


@pytest.mark.parametrize(
    ("code", "answered"),
    (
        (3, 15),
        (19, 15),
        (20, 15),
        (7, 15),
        (6, 16),
        (56, 16),
        (74, 16),
        (10, -1),
        (18, -1),
        (4, -1),
        (13, 14),
        (47, 47),
        (48, 48),
    ),
)
def test_error_of_the_log_becomes_the_error_of_a_coordinator(code: int, answered: int) -> None:
    assert coordinator_error(error_for_code(code)("why")).code == answered


def test_error_keeps_its_words() -> None:
    assert str(coordinator_error(error_for_code(19)("one replica"))) == "one replica"


@pytest.mark.parametrize(("code", "answered"), ((14, 14), (15, 15), (16, 16), (-1, 15), (47, 15)))
def test_request_in_a_shard_that_another_error_ends_may_come_again(
    code: int, answered: int
) -> None:
    assert reload_error(error_for_code(code)("why")).code == answered
