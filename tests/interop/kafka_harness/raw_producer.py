"""Transactional producer that commits offsets alone, by requests without a client."""

import time

from cordwood.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from cordwood.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.wire import ask


class RawProducer:
    """A transactional producer of a running Kafka."""

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        self._bootstrap = bootstrap
        self.transactional_id = transactional_id
        request = InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=600_000
        )
        found = ask(bootstrap, request, 5, answer=InitProducerIdResponse)
        self.producer_id, self.epoch = found.producer_id, found.producer_epoch

    def end(self, *, is_commit: bool) -> bool:
        """End the transaction, and wait for its markers; return whether there was one."""
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=is_commit,
        )
        found = ask(self._bootstrap, request, 5, answer=EndTxnResponse)
        if found.error_code:
            return False
        self.producer_id, self.epoch = found.producer_id, found.producer_epoch
        describe = DescribeTransactionsRequest(transactional_ids=[self.transactional_id])
        end = time.monotonic() + PATIENCE_S
        while True:
            (state,) = ask(
                self._bootstrap, describe, 0, answer=DescribeTransactionsResponse
            ).transaction_states
            if not state.transaction_state.startswith("Prepare"):
                return True
            assert time.monotonic() < end, state
            time.sleep(0.002)
