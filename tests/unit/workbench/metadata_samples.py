"""Records of Kafka's metadata, byte by byte."""

from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.control_records import LeaderChange, control_batch

TOPIC_ID = bytes(range(16))


def text(words: str) -> bytes:
    return bytes((len(words) + 1,)) + words.encode()


def topic(name: str, topic_id: bytes = TOPIC_ID) -> bytes:
    return b"\x01\x02\x00" + text(name) + topic_id + b"\x00"


def config(kind: int, name: str, key: str, value: str | None) -> bytes:
    said = b"\x00" if value is None else text(value)
    return b"\x01\x04\x00" + bytes((kind,)) + text(name) + text(key) + said + b"\x00"


def topic_gone(topic_id: bytes = TOPIC_ID) -> bytes:
    return b"\x01\x09\x00" + topic_id + b"\x00"


def partition(
    number: int, *replicas: int, topic_id: bytes = TOPIC_ID, leader_epoch: int = 0
) -> bytes:
    """Return a partition that its first replica leads, all replicas in sync."""
    sets = _array(replicas) * 2 + _array(()) * 2
    leadership = _number(replicas[0]) + _number(leader_epoch) + _number(0)
    return b"\x01\x03\x00" + _number(number) + topic_id + sets + leadership + b"\x00"


def partition_change(number: int, *replicas: int, topic_id: bytes = TOPIC_ID) -> bytes:
    """Return a change of the leader, and of the replicas if there are any."""
    moved = b"\x02" + bytes((len(_array(replicas)),)) + _array(replicas) if replicas else b""
    tags = b"\x01\x04" + _number(7) + moved
    return b"\x01\x05\x02" + _number(number) + topic_id + bytes((1 + bool(replicas),)) + tags


def producers(next_id: int) -> bytes:
    return b"\x01\x0f\x00" + _number(1) + bytes(8) + next_id.to_bytes(8) + b"\x00"


def _number(value: int) -> bytes:
    return value.to_bytes(4, signed=True)


def _array(numbers: tuple[int, ...]) -> bytes:
    return bytes((len(numbers) + 1,)) + b"".join(map(_number, numbers))


def metadata_batch(*values: bytes, at: int = 0) -> bytes:
    """Return records of a metadata log."""
    builder = BatchBuilder(BatchFields(base_offset=at, partition_leader_epoch=1))
    for value in values:
        builder.append(None, value, timestamp=1)
    return bytes(builder.build())


def leader_batch(at: int = 0) -> bytes:
    """Return a control batch, which a metadata log contains too."""
    fields = BatchFields(base_offset=at, partition_leader_epoch=1)
    return bytes(control_batch(LeaderChange(1, (), ()), fields, timestamp=1))
