"""The worked examples of docs/formats/storage.md are what our writers write."""

from pathlib import Path
from typing import Final

from cordwood.core.ids import parse_uuid
from cordwood.core.types import LeaderEpoch, Offset, PartitionId, TopicName, TopicPartition
from cordwood.storage.checkpoints import format_epoch_checkpoint, format_offset_checkpoint
from cordwood.storage.epochs import EpochEntry
from cordwood.storage.index import (
    ABORTED_ENTRY_SIZE,
    OFFSET_ENTRY_SIZE,
    TIME_ENTRY_SIZE,
    AbortedEntry,
    HeldEntries,
    OffsetEntry,
    OffsetIndex,
    TimeEntry,
    TimeIndex,
    TransactionIndex,
)
from cordwood.storage.partition_metadata import format_partition_metadata
from cordwood.storage.producer_snapshot import encode_snapshot
from cordwood.storage.producer_state import ProducerState, WrittenBatch

PAGE: Final = Path(__file__).parents[3] / "docs" / "formats" / "storage.md"


def _text(name: str) -> str:
    return PAGE.read_text().split(f"```{name}\n")[1].split("```")[0]


def _bytes(name: str) -> bytes:
    return bytes.fromhex(_text(name))


def test_documented_offset_entry_is_what_the_index_says() -> None:
    index = OffsetIndex(45, HeldEntries(_bytes("index"), OFFSET_ENTRY_SIZE))

    assert index.last == OffsetEntry(57, 1234)


def test_documented_time_entry_is_what_the_index_says() -> None:
    index = TimeIndex(45, HeldEntries(_bytes("timeindex"), TIME_ENTRY_SIZE))

    assert index.last == TimeEntry(1503229838908, 57)


def test_documented_aborted_transaction_is_what_the_index_says() -> None:
    index = TransactionIndex(0, HeldEntries(_bytes("txnindex"), ABORTED_ENTRY_SIZE))

    assert list(index.read()) == [AbortedEntry(7, 42, 43, 44)]


def test_documented_snapshot_is_what_is_written() -> None:
    state = ProducerState(7, 1, (WrittenBatch(5, 42, 0, 1000),), last_timestamp=1000)

    assert encode_snapshot([state]) == _bytes("snapshot")


def test_documented_texts_are_what_is_written() -> None:
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
