"""Additions of partitions to transactions, and verifications of them.

Kafka: `handleAddPartitionsToTransaction`, `handleVerifyPartitionsInTransaction`. All transactions
that one request changes are one batch: their records count together, or none is written.
"""

from functools import partial
from typing import TypeAlias

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.outcome import Answer, Outcome, Ticket
from cordwood.coordination.transactions.add_partitions import (
    TransactionPartitions,
    missing_partitions,
    prepare_add,
)
from cordwood.coordination.transactions.add_partitions_response import (
    PartitionCodes,
    count_partitions,
    partitions_of,
    response_of,
    result_of,
    transactions_of,
    without_results,
)
from cordwood.coordination.transactions.client_errors import transaction_error
from cordwood.coordination.transactions.transaction_appends import (
    LIGHT_PARTITIONS,
    TransactionAppends,
)
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_outcome import TransactionOutcome
from cordwood.core.errors import KafkaError, TransactionAbortableError
from cordwood.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
)

CodesLater: TypeAlias = dict[int, PartitionCodes | int]
"""Gets the code of each transaction of a request by its place, or the codes of its partitions."""

_NO_ERROR: PartitionCodes = {}


class TransactionAdditions:
    """The requests of a shard that add partitions to transactions."""

    def __init__(self, appends: TransactionAppends) -> None:
        self._appends = appends

    def add(
        self,
        request: AddPartitionsToTxnRequest,
        client: ClientContext,
        *,
        ticket: Ticket,
        now_ms: int,
        later: CodesLater | None = None,
    ) -> TransactionOutcome:
        """Add to or verify each transaction of a request.

        With `later` the results of partitions are made later, from the codes of each transaction.
        """
        add = partial(self._added, request, client, ticket=ticket, now_ms=now_ms, later=later)
        is_long = count_partitions(request, client.api_version) > LIGHT_PARTITIONS
        return TransactionOutcome(rest=add) if is_long else add()

    def _added(
        self,
        request: AddPartitionsToTxnRequest,
        client: ClientContext,
        *,
        ticket: Ticket,
        now_ms: int,
        later: CodesLater | None,
    ) -> TransactionOutcome:
        version = client.api_version
        transactions = transactions_of(request, version)
        changes: dict[int, TransactionMetadata] = {}
        codes: dict[int, PartitionCodes | int] = {}
        changed_ids: set[str] = set()
        for at, each in enumerate(transactions):
            partitions = partitions_of(each, version)
            is_changed = each.transactional_id in changed_ids
            try:
                if each.verify_only:
                    codes[at] = self._verify(partitions)
                elif (
                    after := self._prepare(partitions, now_ms, is_changed=is_changed)
                ) is not None:
                    changes[at] = after
                    changed_ids.add(each.transactional_id)
            except KafkaError as error:
                codes[at] = transaction_error(error, version).code

        def response(failed: int | None = None) -> AddPartitionsToTxnResponse:
            results = []
            for at, each in enumerate(transactions):
                rejected = failed if at in changes else None
                code = codes.get(at, _NO_ERROR) if rejected is None else rejected
                if later is not None:
                    later[at] = code
                    results.append(without_results(each))
                else:
                    results.append(result_of(each, code))
            return response_of(results, version)

        if not changes:
            return TransactionOutcome.answer(ticket, response())

        def on_failure(error: KafkaError, _: int) -> Outcome:
            return TransactionOutcome.answer(ticket, response(error.code))

        answer = Answer(ticket, response())
        return self._appends.append([*changes.values()], answer, on_failure=on_failure)

    def add_offsets(
        self, added: TransactionPartitions, client: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> TransactionOutcome:
        """Add the partition that has the offsets of a group."""
        try:
            after = self._prepare(added, now_ms)
        except KafkaError as error:
            return TransactionOutcome.answer(ticket, transaction_error(error, client.api_version))
        answer = Answer(ticket, AddOffsetsToTxnResponse(error_code=0))
        if after is None:
            return TransactionOutcome(answers=[answer])
        return self._appends.append([after], answer)

    def _prepare(
        self, added: TransactionPartitions, now_ms: int, *, is_changed: bool = False
    ) -> TransactionMetadata | None:
        registry = self._appends.registry
        return prepare_add(
            registry.get(added.transactional_id),
            added,
            is_pending=is_changed or registry.is_pending(added.transactional_id),
            now_ms=now_ms,
        )

    def _verify(self, verified: TransactionPartitions) -> PartitionCodes:
        metadata = self._appends.registry.get(verified.transactional_id)
        missing = missing_partitions(metadata, verified)
        return dict.fromkeys(missing, TransactionAbortableError.code)
