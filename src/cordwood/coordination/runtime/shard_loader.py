"""Load of a shard from its partition (Kafka: `CoordinatorLoaderImpl`).

Chunks are decoded on the worker, and replayed on the loop for `TURN_MS` per turn.
"""

from functools import partial
from typing import TypeVar

from cordwood.coordination.coordinator_record import StoredMarker, StoredRecord
from cordwood.coordination.ports import InternalLog
from cordwood.coordination.runtime.coordinator_shard import CoordinatorShard
from cordwood.coordination.runtime.internal_batches import StoredItem, decode_batches
from cordwood.coordination.runtime.pending_result import result_of
from cordwood.coordination.runtime.runtime_ports import RuntimePorts, ShardKind
from cordwood.core.ports import Lane

S = TypeVar("S", bound=CoordinatorShard)

#: A chunk up to this size is decoded on the loop: a change of threads would take longer.
SMALL_CHUNK_BYTES = 4096
#: Items that are replayed between two looks at the clock.
_PER_LOOK = 20


async def load(shard: S, log: InternalLog, *, kind: ShardKind[S], ports: RuntimePorts) -> int:
    """Replay a whole partition; return the offset after its last record.

    Raises a KafkaError if the leadership ends, and the error of a record that cannot be replayed.
    """
    next_offset, has_runs = 0, kind.replay_run is not None
    async for chunk in log.load():
        decoded = partial(decode_batches, kind.records, chunk, has_runs=has_runs)
        if len(chunk) <= SMALL_CHUNK_BYTES:
            items = decoded()
        else:
            items = await result_of(ports.worker.submit(decoded, lane=Lane.COMPUTE))
        if items:
            next_offset = _offset(items[-1]) + 1
        await _replay(shard, items, kind=kind, ports=ports)
    return next_offset


async def _replay(
    shard: S, items: list[StoredItem], *, kind: ShardKind[S], ports: RuntimePorts
) -> None:
    end_ms = ports.turn_end()
    for number, item in enumerate(items):
        if isinstance(item, StoredRecord):
            shard.replay(item)
        elif isinstance(item, StoredMarker):
            shard.replay_marker(item)
        else:
            assert kind.replay_run is not None, "runs are decoded only for shards that take them"
            kind.replay_run(shard, item)
        if number % _PER_LOOK == 0 and ports.is_over(end_ms):
            await ports.next_turn()
            end_ms = ports.turn_end()


def _offset(item: StoredItem) -> int:
    return item.offset
