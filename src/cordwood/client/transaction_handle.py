"""Handle of a transaction that a producer has left open (Java: `PreparedTxnState`, KIP-939).

    {"transactional_id":"etl","producer_id":7,"epoch":3,"transaction_version":2}

Any process can end the transaction with the handle and `Admin.end_transaction`.
"""

import json
from typing import NamedTuple, Self

from cordwood.core.errors import InvalidRequestError


class TransactionHandle(NamedTuple):
    """Transactional id, producer id and epoch of an open transaction.

    `transaction_version` is the protocol that the producer has used: 2 increments the epoch with
    each transaction (KIP-890). The transaction has to be ended by the same protocol.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    transaction_version: int

    def to_json(self) -> str:
        """Return the handle as a JSON object."""
        return json.dumps(self._asdict(), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the handle of a JSON object; InvalidRequestError for any other text."""
        try:
            fields = json.loads(text)
            made = cls(**fields)
        except (TypeError, ValueError) as error:
            raise InvalidRequestError(f"{text[:80]!r} is not a transaction handle") from error
        if [type(each) for each in made] != [str, int, int, int]:
            raise InvalidRequestError(f"{text[:80]!r} has a field of another type")
        return made
