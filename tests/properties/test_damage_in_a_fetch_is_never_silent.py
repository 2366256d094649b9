"""One damaged byte in a fetched answer ends in records, or in an error of `poll`.

The error names partition and offset, and comes within one poll. The checksum covers a batch from
its attributes on. A changed bit there never removes a record without an error, in both ways of
reading and at every position.
"""

from collections.abc import Callable, Iterator

import pytest

from cordwood.client.consumer.consumer import Consumer
from cordwood.core.errors import CordwoodError
from cordwood.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from cordwood.records.decoder import Decoder
from cordwood.records.kernels.kernel_decoder import KernelDecoder
from tests.unit.client.fake_broker import FakeBroker, broker, run, topic_id
from tests.unit.client.samples import T0, consumer, placed

FROM_ATTRIBUTES = 21
AFTER_DELTA = 27
ONE_POLL_MS = 5_000
POSITIONS = (0, 7, 1 << 40)
VALUES = [b"first", b"middle", b"last"]
WAYS: dict[str, Callable[[], Decoder | None]] = {"plain": lambda: None, "kernels": KernelDecoder}


def answer(data: bytes) -> FetchResponse:
    partition = PartitionData(
        partition_index=0,
        error_code=0,
        high_watermark=1 << 50,
        aborted_transactions=None,
        records=data,
    )
    topic = FetchableTopicResponse(topic="t", topic_id=topic_id("t"), partitions=[partition])
    return FetchResponse(responses=[topic])


def serve(fake: FakeBroker, data: list[bytes], position: int) -> None:
    """Answer every fetch with the batches from its offset on, as they are stored."""

    def fetched(request: FetchRequest) -> FetchResponse:
        offset = request.topics[0].partitions[0].fetch_offset if request.topics else position
        fake.script(FetchRequest, fetched)
        return answer(b"".join(data[max(0, offset - position) :]))

    fake._scripts[FetchRequest].clear()  # noqa: SLF001 - the answers of the case before
    fake.script(FetchRequest, fetched)


def batches(position: int) -> list[bytes]:
    return [placed(position + index, value) for index, value in enumerate(VALUES)]


def flipped(data: bytes, at: int, bit: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


def bits(first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield every bit up to the last offset delta, and one bit of each byte after it."""
    for at in range(first, end):
        for bit in range(8) if at < AFTER_DELTA else (at % 8,):
            yield at, bit


async def outcome(
    reader: Consumer[bytes, bytes], position: int
) -> tuple[list[bytes | None], str | None]:
    """Return the values of all polls up to the last record or an error, and the error."""
    found: list[bytes | None] = []
    reader.seek(T0, position)
    try:
        while len(found) < len(VALUES) and None not in found:
            found += [each.value for each in await reader.poll(ONE_POLL_MS)] or [None]
    except CordwoodError as error:
        return found, " ".join([str(error), *getattr(error, "__notes__", ())])
    return found, None


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("way", WAYS)
def test_no_bit_under_the_checksum_removes_records_without_an_error(
    way: str, position: int
) -> None:
    async def scene() -> None:
        data = batches(position)
        async with broker(t=1) as fake, consumer(fake) as reader:
            records = reader._reader  # noqa: SLF001 - as after 100,000 records
            assert records is not None
            records._decoder = WAYS[way]()  # noqa: SLF001 - as above
            for at, bit in bits(FROM_ATTRIBUTES, len(data[1])):
                serve(fake, [data[0], flipped(data[1], at, bit), data[2]], position)
                found, error = await outcome(reader, position)
                assert (at, bit, found) == (at, bit, [b"first"])
                assert f"t-0: the batch at offset {position + 1} is damaged" in str(error)

    run(scene())


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("damaged", range(len(VALUES)))
def test_every_damaged_byte_of_a_header_ends_in_records_or_an_error(
    damaged: int, position: int
) -> None:
    async def scene() -> None:
        async with broker(t=1) as fake, consumer(fake) as reader:
            for at, bit in bits(0, FROM_ATTRIBUTES):
                data = batches(position)
                data[damaged] = flipped(data[damaged], at, bit)
                serve(fake, data, position)
                found, error = await outcome(reader, position)
                assert (at, bit, None in found) == (at, bit, False)
                if error is None:
                    assert (at, bit, found) == (at, bit, VALUES)
                else:
                    assert "t-0" in error
                    assert "offset" in error

    run(scene())
