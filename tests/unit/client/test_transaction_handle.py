"""Handle of an open transaction as a value, and as JSON."""

import pytest

from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import InvalidRequestError

HANDLE = TransactionHandle("etl", 7, 3, 2)


def test_handle_survives_json() -> None:
    text = HANDLE.to_json()

    assert text == '{"transactional_id":"etl","producer_id":7,"epoch":3,"transaction_version":2}'
    assert TransactionHandle.from_json(text) == HANDLE


@pytest.mark.parametrize("text", ("", "[]", "7", '{"transactional_id":"etl"}'))
def test_other_text_is_rejected(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="is not a transaction handle"):
        TransactionHandle.from_json(text)


@pytest.mark.parametrize("field", ({"epoch": "3"}, {"transactional_id": 7}, {"epoch": True}))
def test_field_of_another_type_is_rejected(field: dict[str, object]) -> None:
    text = HANDLE._replace(**field).to_json()  # type: ignore[arg-type]  # the wrong type is the case

    with pytest.raises(InvalidRequestError, match="a field of another type"):
        TransactionHandle.from_json(text)
