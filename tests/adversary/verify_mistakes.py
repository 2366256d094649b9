"""Mistakes that are planted in `verify`; damage of random logs has to show each of them.

kinds   kinds of damage one of which shows the mistake; without any, all kinds are tried
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple


class VerifyMistake(NamedTuple):
    """The replacement of a function of `cordwood`, and the kinds of damage that show it."""

    where: str
    mistake: Callable[..., object]
    kinds: tuple[str, ...] = ()


def _nothing(*_: object, **__: object) -> list[object]:
    return []


def _only_snapshots(check: object, log_end: int, **_: object) -> None:
    check.check_snapshot(log_end)  # type: ignore[attr-defined]  # a check of producers


def _no_swaps(_: object, parsed: Iterable[object]) -> list[object]:
    return []


_VERIFY: Final = "workbench.verify"

#: The mistakes that damage of one file has to show.
MISTAKES: Final[dict[str, VerifyMistake]] = {
    "an abort entry is always right": VerifyMistake(
        f"{_VERIFY}.transaction_index_checks.AbortMarker.is_borne_out", lambda *_: True
    ),
    "an abort marker needs no entry": VerifyMistake(
        f"{_VERIFY}.transaction_index_checks.AbortMarker.needs_entry", lambda *_: False
    ),
    "the latest time is not compared": VerifyMistake(
        f"{_VERIFY}.index_checks.IndexCheck._check_latest", _nothing
    ),
    "epochs are not compared": VerifyMistake(
        f"{_VERIFY}.offset_order_checks.OffsetOrderCheck._compare_with_checkpoint", lambda *_: None
    ),
    "files do not show the log end": VerifyMistake(
        f"{_VERIFY}.partition_verification.check_log_end", _nothing
    ),
    "checkpoints do not show the log end": VerifyMistake(
        f"{_VERIFY}.partition_verification.check_ends", _nothing
    ),
    "snapshots are not compared": VerifyMistake(
        f"{_VERIFY}.producer_checks.ProducerCheck.check_snapshot", lambda *_: None
    ),
    "an open transaction needs no snapshot": VerifyMistake(
        f"{_VERIFY}.producer_checks.ProducerCheck.check_end",
        _only_snapshots,
        ("newest snapshots gone",),
    ),
    "abort entries have any order": VerifyMistake(
        f"{_VERIFY}.transaction_index_checks._find_disorder",
        _nothing,
        ("entries of a transaction index exchanged",),
    ),
    "an epoch begins anywhere": VerifyMistake(
        f"{_VERIFY}.offset_order_checks._find_inside",
        lambda *_, **__: None,
        ("start of an epoch",),
    ),
    "max timestamps are not compared": VerifyMistake(
        f"{_VERIFY}.timestamp_checks.TimestampCheck.finish",
        _nothing,
        ("max timestamp of a batch",),
    ),
    "topic ids are not compared": VerifyMistake(
        f"{_VERIFY}.verify.check_topic_ids", _nothing, ("topic id of a partition",)
    ),
    "topic ids of the metadata are not read": VerifyMistake(
        f"{_VERIFY}.topic_id_checks.read_topic_ids",
        lambda *_: None,
        ("topic id of the metadata",),
    ),
}

#: The mistakes that a stopped cleaner has to show: the step or the damage of a .swap file.
STOPPED_MISTAKES: Final[dict[str, VerifyMistake]] = {
    "a pending .swap log is not read": VerifyMistake(
        f"{_VERIFY}.partition_verification.check_pending", _nothing, ("bit of a .swap log",)
    ),
    "a .swap log is not listed": VerifyMistake(
        "storage.reader.segment_listing._complete", _no_swaps, ("swap without sources",)
    ),
}
