"""Helpers of the client tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cordwood.client.consumer.completed_fetch import CompletedFetch, completed_fetch
from cordwood.client.consumer.consumer import Consumer
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.runtime import system_runtime
from cordwood.client.settings import ClientOptions, ClientSettings
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.binary import Buffer
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.control_records import EndTransaction, control_batch
from tests.unit.client.fake_broker import FakeBroker

T0 = ("t", 0)
LONG_MS = 60_000


@asynccontextmanager
async def routed(*servers: str, **options: int) -> AsyncIterator[NetworkClient]:
    given: ClientOptions = {"bootstrap_servers": servers, "retry_backoff_ms": 1, **options}  # type: ignore[typeddict-item]  # by name
    client = NetworkClient(ClientSettings(**given), system_runtime(), None)
    try:
        yield client
    finally:
        await client.close()


def batch(*values: bytes) -> bytes:
    builder = BatchBuilder()
    for value in values:
        builder.append(b"k", value, timestamp=9)
    return bytes(builder.build())


def placed(base_offset: int, *values: bytes | None, producer_id: int = -1) -> bytes:
    fields = BatchFields(base_offset=base_offset, partition_leader_epoch=3)
    if producer_id >= 0:
        fields = fields._replace(
            producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True
        )
    builder = BatchBuilder(fields)
    for value in values:
        builder.append(b"k", value, timestamp=9)
    return bytes(builder.build())


def marker(offset: int, producer_id: int, *, is_commit: bool) -> bytes:
    fields = BatchFields(base_offset=offset, producer_id=producer_id, producer_epoch=0)
    return bytes(control_batch(EndTransaction(is_commit, 0), fields, timestamp=9))


def consumer(fake: FakeBroker, **options: object) -> Consumer[bytes, bytes]:
    """Return a consumer of topic t's first partition."""
    quick = {"fetch_max_wait_ms": 5, "auto_offset_reset": "earliest", "retry_backoff_ms": 1}
    made: Consumer[bytes, bytes] = Consumer(fake.address, **{**quick, **options})  # type: ignore[arg-type]  # by name
    made.assign([T0])
    return made


def fetched(data: Buffer, offset: int = 0, **more: object) -> CompletedFetch:
    """Return what was fetched of topic t's first partition, up to any damage."""
    (partition,) = partitions_of([T0])
    return completed_fetch(partition, data, offset=offset, **more)[0]  # type: ignore[arg-type]  # by name


async def values(reader: Consumer[bytes, bytes], count: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    while len(found) < count:
        found += [record.value for record in await reader.poll(LONG_MS)]
    return found
