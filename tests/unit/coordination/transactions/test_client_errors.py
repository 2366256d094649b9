"""Errors by request version."""

import pytest

from cordwood.coordination.transactions.client_errors import (
    init_producer_id_error,
    transaction_error,
)
from cordwood.core.errors import ConcurrentTransactionsError, ProducerFencedError


@pytest.mark.parametrize(("version", "code"), ((0, 47), (3, 47), (4, 90), (5, 90)))
def test_init_producer_id_knows_fenced_producers_from_version_4_on(version: int, code: int) -> None:
    assert init_producer_id_error(ProducerFencedError("fenced"), version).code == code


@pytest.mark.parametrize(("version", "code"), ((0, 47), (1, 47), (2, 90), (5, 90)))
def test_other_requests_know_fenced_producers_from_version_2_on(version: int, code: int) -> None:
    assert transaction_error(ProducerFencedError("fenced"), version).code == code


def test_other_error_is_the_same_in_all_versions() -> None:
    error = ConcurrentTransactionsError("pending")

    assert transaction_error(error, 0) is error
    assert init_producer_id_error(error, 0) is error
