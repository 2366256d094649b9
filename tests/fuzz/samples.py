"""Valid bytes to damage: each format, each codec, and each shape that a reader decides on."""

from itertools import product

from cordwood.records.batch_builder import BatchBuilder, BatchFields, empty_batch
from cordwood.records.compression import Codec, compress
from cordwood.records.control_records import (
    Control,
    EndTransaction,
    KRaftVersion,
    LeaderChange,
    QuorumVoter,
    SnapshotFooter,
    SnapshotHeader,
    Voter,
    Voters,
    control_batch,
)
from cordwood.records.control_records import Endpoint as VoterEndpoint
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic

OLD_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
COMPRESSING = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
MAGICS: tuple[LegacyMagic, ...] = (0, 1)
DIRECTORY = bytes(range(16))


def v2_batches() -> list[bytes]:
    """Return v2 batches, most of them uncompressed: the damage compresses some afterwards."""
    plain = BatchFields(base_offset=1000, partition_leader_epoch=4)
    producer = plain._replace(producer_id=7, producer_epoch=1, base_sequence=2**31 - 2)
    fields = (
        *(plain._replace(codec=codec) for codec in Codec),
        producer,
        producer._replace(is_transactional=True),
        plain._replace(log_append_time_ms=5000),
        plain._replace(delete_horizon_ms=9_000_000),
    )
    marker = EndTransaction(is_commit=False, coordinator_epoch=9)
    return [
        *(_filled(each) for each in fields),
        bytes(empty_batch(producer, last_offset=1004, max_timestamp=12)),
        bytes(control_batch(marker, producer._replace(base_sequence=-1), timestamp=1000)),
    ]


def _filled(fields: BatchFields) -> bytes:
    builder = BatchBuilder(fields)
    builder.append(b"key", b"value" * 30, timestamp=1000)
    builder.append(None, b"", timestamp=900, headers=(("name", b"content"), ("none", None)))
    builder.append(b"key", None, timestamp=2000, offset=1007)
    return bytes(builder.build())


def legacy_batches() -> list[bytes]:
    """Return v0 and v1 messages and wrappers."""
    found = []
    for magic, codec, base_offset in product(MAGICS, OLD_CODECS, (0, 1025)):
        builder = LegacyBuilder(magic, base_offset=base_offset, codec=codec)
        builder.append(b"key", b"value" * 20, timestamp=1000)
        builder.append(None, None, timestamp=1001)
        found.append(bytes(builder.build()))
    return found


def streams() -> list[bytes]:
    """Return batches in a row, of one kind and of many."""
    v2, old, markers = v2_batches(), legacy_batches(), control_batches()[-2:]
    packed = [*v2[1:5], *v2[1:5]]
    mixed = [v2[6], old[3], *packed, v2[0], markers[1], *old[8:10], v2[6], markers[0], *v2[1:3]]
    return [b"".join(each) for each in (v2, old, packed, packed[1:4], mixed, mixed[::-1])]


def control_batches() -> list[bytes]:
    """Return a batch for each type of control record."""
    voter = Voter(1, DIRECTORY, (VoterEndpoint("CONTROLLER", "host", 9093),), 0, 1)
    quorum = (QuorumVoter(1, DIRECTORY), QuorumVoter(2, DIRECTORY))
    controls: tuple[Control, ...] = (
        LeaderChange(1, quorum, quorum, version=1),
        SnapshotHeader(1000),
        SnapshotFooter(),
        KRaftVersion(1),
        Voters((voter,)),
    )
    producer = BatchFields(producer_id=7, producer_epoch=1)
    markers = (EndTransaction(is_commit, 9) for is_commit in (True, False))
    return [
        *(bytes(control_batch(control, BatchFields(), timestamp=1)) for control in controls),
        *(bytes(control_batch(marker, producer, timestamp=1)) for marker in markers),
    ]


def compressed(codec: Codec) -> list[bytes]:
    """Return small and large data in the framing of `codec`."""
    return [
        compress(codec, data)
        for data in (b"", b"a", b"some words " * 30, bytes(70_000), DIRECTORY * 2500)
    ]
