"""The examples in docs/formats/storage.md have the bytes that the writers write."""

from pathlib import Path
from typing import Final

from cordwood.core.types import LeaderEpoch, Offset, PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import parse_uuid
from cordwood.storage.checkpoints.checkpoint_files import (
    format_epoch_checkpoint,
    format_offset_checkpoint,
)
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.storage.checkpoints.partition_metadata_file import format_partition_metadata
from cordwood.storage.producers.producer_snapshot import encode_snapshot
from cordwood.storage.producers.producer_state_entry import BatchMetadata, ProducerStateEntry
from cordwood.storage.segment.abstract_index import InMemoryEntries
from cordwood.storage.segment.offset_index import OFFSET_ENTRY_SIZE, OffsetEntry, OffsetIndex
from cordwood.storage.segment.time_index import TIME_ENTRY_SIZE, TimeEntry, TimeIndex
from cordwood.storage.segment.transaction_index import (
    ABORTED_TXN_SIZE,
    AbortedTxn,
    TransactionIndex,
)

PAGE: Final = Path(__file__).parents[3] / "docs" / "formats" / "storage.md"


def _text(name: str) -> str:
    return PAGE.read_text().split(f"```{name}\n")[1].split("```")[0]


def _bytes(name: str) -> bytes:
    return bytes.fromhex(_text(name))


def test_documented_offset_entry_is_that_of_the_index() -> None:
    index = OffsetIndex(45, InMemoryEntries(_bytes("index"), OFFSET_ENTRY_SIZE))

    assert index.last == OffsetEntry(57, 1234)


def test_documented_time_entry_is_that_of_the_index() -> None:
    index = TimeIndex(45, InMemoryEntries(_bytes("timeindex"), TIME_ENTRY_SIZE))

    assert index.last == TimeEntry(1503229838908, 57)


def test_documented_aborted_transaction_is_that_of_the_index() -> None:
    index = TransactionIndex(0, InMemoryEntries(_bytes("txnindex"), ABORTED_TXN_SIZE))

    assert list(index.read()) == [AbortedTxn(7, 42, 43, 44)]


def test_documented_snapshot_is_as_written() -> None:
    state = ProducerStateEntry(7, 1, (BatchMetadata(5, 42, 0, 1000),), last_timestamp=1000)

    assert encode_snapshot([state]) == _bytes("snapshot")


def test_documented_texts_are_as_written() -> None:
    orders = [TopicPartition(TopicName("orders"), PartitionId(number)) for number in (0, 1)]
    offsets = dict(zip(orders, (Offset(120), Offset(7)), strict=True))
    epochs = [
        EpochEntry(LeaderEpoch(0), Offset(0)),
        EpochEntry(LeaderEpoch(3), Offset(120)),
    ]
    topic_id = parse_uuid("3Adc4FjfTeypRWROmQDNIQ")

    assert format_offset_checkpoint(offsets).decode() == _text("offsets")
    assert format_epoch_checkpoint(epochs).decode() == _text("epochs")
    assert format_partition_metadata(topic_id).decode() == _text("topic").rstrip("\n")
