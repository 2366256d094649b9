"""The outcome of a write task, which its commit message carries to the driver."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

from cordwood.client.transaction_handle import TransactionHandle

#: Sums of digests have as many bits as digests (`row_digest`).
DIGEST_MASK: Final = (1 << 63) - 1


class OutcomeKind(StrEnum):
    """The treatment of a task's rows."""

    #: The rows are in an open transaction; there is none without rows.
    WRITTEN = "written"
    #: The batch is decided: the rows were dropped.
    SKIPPED = "skipped"
    #: The same, by the option onMissingRecord=assume-done.
    ASSUMED = "assumed"
    #: The slot is visible, and the rows equal those that were written.
    VERIFIED = "verified"
    #: The slot is visible with other rows.
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutcome:
    """The outcome of one attempt."""

    kind: OutcomeKind
    slot: int
    query_id: UUID
    rows: int = 0
    digest: int = 0
    #: The open transaction and the number of its id.
    handle: TransactionHandle | None = None
    number: int = 0
    #: Whether it is a repeated attempt, so that an earlier one may have left a transaction open.
    is_retry: bool = False
