"""Commands of the family `deliveries`: batches of an idempotent producer, and a leader's answers.

The producer is the real one, on virtual time. Each record is a batch of its own, in partition t-0.
The broker handles one Produce request at a time, and answers as the script states.
"""

import asyncio
from typing import Final, TypeAlias

from cordwood.client.producer.delivery import Delivery
from cordwood.client.producer.partition_queue import PartitionQueue, ProducerBatch
from cordwood.client.producer.producer import Producer
from cordwood.core.errors import ERRORS_BY_CODE
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.produce import ProduceRequest, ProduceResponse
from cordwood.protocol.schema import Request, Response
from cordwood.records.record_batch import RecordBatch
from tests.scripts import transcript
from tests.unit.client.fake_broker import FakeBroker, Hangup, listening, partition_answer
from tests.unit.client.virtual_time import SETTLING_TURNS, VirtualTime

DELIVERY_TIMEOUT_MS: Final = 60_000
#: Each step of an advance ends before a client's timer could be due twice.
STEP_MS: Final = 50

#: A producer without bytes as keys or values.
Plain: TypeAlias = Producer[bytes, bytes]


class AnsweredBroker(FakeBroker):
    """Broker whose answers to Produce requests come from the script."""

    def __init__(self) -> None:
        super().__init__({"t": 1})
        self.held: tuple[RecordBatch, asyncio.Future[Response | None]] | None = None
        self.arrived: list[RecordBatch] = []
        self._producer_ids = 0
        self._is_over = False

    def hang_up(self) -> None:
        """Close the connection of the held request, and of each later one."""
        self._is_over = True
        if self.held is not None:
            self.held[1].set_exception(Hangup())

    async def _made(self, request: Request) -> Response | None:
        if isinstance(request, InitProducerIdRequest):
            self._producer_ids += 1
            return InitProducerIdResponse(
                error_code=0, producer_id=self._producer_ids, producer_epoch=0
            )
        if not isinstance(request, ProduceRequest):
            return await super()._made(request)
        if self._is_over:
            raise Hangup
        data = request.topics[0].partitions[0].records
        batch = RecordBatch(bytes(data))  # type: ignore[arg-type]  # a decoded request holds a view
        self.arrived.append(batch)
        answered: asyncio.Future[Response | None] = asyncio.get_running_loop().create_future()
        self.held = (batch, answered)
        return await answered


class DeliveryCommands:
    """A producer, and the leader that answers it."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._time = VirtualTime()
        self._broker = AnsweredBroker()
        self._serving = listening(self._broker)
        self._names: list[str] = []
        self._deliveries: dict[str, Delivery] = {}
        self._known: dict[str, str] = {}
        self._producer = self._runner.run(self._started())

    def send(self, *names: str) -> str:
        """Send records, each in a batch of its own."""
        self._runner.run(self._send(names))
        return self._changes()

    def answer(self, outcome: str) -> str:
        """Answer the held request: `written`, or Kafka's name of an error."""
        batch, answered = self._take()
        answered.set_result(self._response(batch, outcome))
        self._settle()
        return self._changes()

    def lose(self, response: str) -> str:
        """Lose the response of the held request: its batch is `written` or `unwritten`."""
        batch, answered = self._take()
        if response == "written":
            self._broker.append("t", bytes(batch.data))
        answered.set_exception(Hangup())
        self._settle()
        return self._changes()

    def advance(self, time: int) -> str:
        """Advance the producer's clock."""
        self._runner.run(self._advance(time))
        return self._changes()

    def queue(self) -> str:
        """Print the batches that the producer holds."""
        queue = self._queue()
        return (
            "\n".join(
                [self._described(each, "in flight", queue) for each in queue.in_flight]
                + [self._described(each, "waiting", queue) for each in queue.waiting]
            )
            or "empty"
        )

    def log(self) -> str:
        """Print the records of the log."""
        return " ".join(_value(RecordBatch(each)) for each in self._broker.logs["t", 0]) or "empty"

    def close(self) -> None:
        """End the producer and the broker, after the script."""
        self._broker.hang_up()
        self._runner.run(self._close())
        self._runner.close()

    # -- internals

    async def _started(self) -> Plain:
        await self._serving.__aenter__()
        producer: Plain = Producer(
            self._broker.address,
            runtime=self._time.runtime,
            linger_ms=0,
            batch_size=1,
            delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
            request_timeout_ms=2 * DELIVERY_TIMEOUT_MS,
        )
        await producer.start()
        return producer

    async def _send(self, names: tuple[str, ...]) -> None:
        for name in names:
            self._names.append(name)
            self._deliveries[name] = await self._producer.send("t", name.encode())
        await _settled()

    async def _advance(self, ms: int) -> None:
        clock = self._time.clock
        end_ms = clock.monotonic_ms() + ms
        while clock.monotonic_ms() < end_ms:
            clock.advance_to(min(end_ms, clock.monotonic_ms() + STEP_MS))
            await _settled()

    async def _close(self) -> None:
        await self._time.outcome(self._producer.close(0), DELIVERY_TIMEOUT_MS)
        await self._serving.__aexit__(None, None, None)

    def _settle(self) -> None:
        self._runner.run(_settled())

    def _take(self) -> tuple[RecordBatch, asyncio.Future[Response | None]]:
        held, self._broker.held = self._broker.held, None
        if held is None:
            raise transcript.ScriptError("the broker has no request to answer")
        return held

    def _response(self, batch: RecordBatch, outcome: str) -> Response:
        if outcome == "written":
            return _produced(0, self._broker.append("t", bytes(batch.data)))
        names = {
            transcript.error_name(error("")).partition(" ")[0]: code
            for code, error in ERRORS_BY_CODE.items()
        }
        return _produced(names[outcome], -1)

    def _queue(self) -> PartitionQueue:
        return self._producer._started()._accumulator.queue("t", 0)  # noqa: SLF001 - its states are the subject

    def _changes(self) -> str:
        """Return the requests and outcomes since the last command."""
        lines = [
            f"request: {_value(each)}, sequence {each.base_sequence} of epoch {each.producer_epoch}"
            for each in self._broker.arrived
        ]
        self._broker.arrived.clear()
        for name, delivery in self._deliveries.items():
            outcome = _outcome(delivery)
            if self._known.get(name, "") != outcome:
                self._known[name] = outcome
                lines.append(f"{name} {outcome}")
        return "\n".join(lines)

    def _described(self, batch: ProducerBatch, place: str, queue: PartitionQueue) -> str:
        fields = batch.builder.fields
        words = [f"{self._names[batch.number[0]]} {place}"]
        if batch.base_sequence is None:
            words.append("without a sequence")
        else:
            words.append(f"sequence {batch.base_sequence} of epoch {fields.producer_epoch}")
        if queue.may_be_written(batch):
            words.append("may be in the log")
        if batch.result.is_done:
            words.append("its timeout is reported")
        return ", ".join(words)


async def _settled() -> None:
    for _ in range(SETTLING_TURNS):
        await asyncio.sleep(0)


def _produced(code: int, offset: int) -> ProduceResponse:
    made = partition_answer(error_code=code)
    assert isinstance(made, ProduceResponse)
    made.responses[0].partitions[0].base_offset = offset
    return made


def _value(batch: RecordBatch) -> str:
    return " ".join((each.value or b"").decode() for each in batch.records())


def _outcome(delivery: Delivery) -> str:
    error = delivery.exception()
    if error is not None:
        may_be = "may be in the log" if "may be in the log" in str(error) else "is not in the log"
        return f"fails with {transcript.error_name(error)}, and {may_be}"
    if not delivery.done():
        return ""
    offset = delivery.result().offset
    return (
        "is delivered, at an unknown offset" if offset < 0 else f"is delivered at offset {offset}"
    )
