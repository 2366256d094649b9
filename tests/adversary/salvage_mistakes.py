"""Mistakes that are planted in salvage, by name; the oracle has to find each of them."""

from collections.abc import Callable
from typing import Final, NamedTuple

import pytest

from cordwood.workbench.salvage import (
    batch_chain,
    batch_offsets,
    batch_run,
    lost_offsets,
    marker_bounds,
    new_log,
    salvage,
    source_directory,
    transaction_ends,
)
from cordwood.workbench.salvage import transaction_evidence as evidence
from cordwood.workbench.salvage.batch_run import TransactionEvent
from cordwood.workbench.salvage.file_bounds import FileBounds
from cordwood.workbench.salvage.marker_bounds import MarkerBounds
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch, Trust
from cordwood.workbench.salvage.transaction_ends import RebuiltMarker, TransactionEnds
from cordwood.workbench.verify import log_end_witnesses
from tests.adversary.damages import LOST_CHECKPOINTS, LOST_MARKERS, LOST_TAIL

Plant = Callable[[pytest.MonkeyPatch], None]


def _no_ends(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(salvage, "find_ends", lambda *_, **__: TransactionEnds([], [], {}))


def _opposite_markers(patch: pytest.MonkeyPatch) -> None:
    encoded = RebuiltMarker.encoded
    patch.setattr(
        RebuiltMarker,
        "encoded",
        lambda self, **after: encoded(self._replace(is_commit=not self.is_commit), **after),
    )


def _everything_is_covered(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(evidence.TransactionEvidence, "covers", lambda *_: True)


def _no_aborts_in_indexes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(evidence.TransactionEvidence, "aborted_with", lambda *_: None)
    patch.setattr(evidence.TransactionEvidence, "covers", lambda *_: True)


def _found_is_led(patch: pytest.MonkeyPatch) -> None:
    def confirm(
        found: list[SalvagedBatch], _damages: object, _bounds: FileBounds
    ) -> list[SalvagedBatch]:
        return [
            each._replace(trust=Trust.LED) if each.trust is Trust.FOUND else each for each in found
        ]

    patch.setattr(batch_chain, "_confirm", confirm)


def _no_doubt(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(salvage, "doubtful_offsets", lambda *_: [])


def _no_losses(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lost_offsets, "_without", lambda *_: [])


def _no_undecided(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(transaction_ends.EndResolver, "_doubt", lambda *_: None)


def _last_run_is_left_out(patch: pytest.MonkeyPatch) -> None:
    in_order = new_log.ordered_batches
    patch.setattr(
        new_log,
        "ordered_batches",
        lambda contents, *rest, **more: in_order(
            contents._replace(runs=[*contents.runs[:-2], contents.runs[-1]]), *rest, **more
        ),
    )


def _own_epochs(patch: pytest.MonkeyPatch) -> None:
    encoded = RebuiltMarker.encoded
    patch.setattr(
        RebuiltMarker, "encoded", lambda self, *, after_epoch: encoded(self, after_epoch=-1)
    )


def _guesses_are_places(patch: pytest.MonkeyPatch) -> None:
    made = transaction_ends.RebuiltMarker
    patch.setattr(
        transaction_ends, "RebuiltMarker", lambda *facts: made(*facts)._replace(is_placed=True)
    )


def _replicas_lack_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(batch_run, "_may_lack_records", lambda _: False)


def _no_file_is_foreign(patch: pytest.MonkeyPatch) -> None:
    facts = source_directory.side_file_facts
    patch.setattr(
        salvage, "side_file_facts", lambda *where: facts(*where)._replace(is_brokers=False)
    )


def _strays_are_trusted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(batch_chain, "_strays", lambda *_: ())


def _places_are_not_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(batch_chain, "_lost_places", lambda *_: iter(()))


def _orphans_are_cleaned(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lost_offsets, "_without_log", lambda offsets, _: offsets)


def _end_is_that_of_checkpoints(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(salvage, "_with_shown_ends", lambda known, *_: known)


def _indexes_show_no_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(log_end_witnesses, "_indexed_offsets", lambda *_, **__: iter(()))


def _nothing_is_unjoined(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(batch_chain, "doubt_offsets", lambda *_: None)


def _nothing_is_moved(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(batch_offsets, "_move_displaced", lambda *_: None)


def _aborts_end_what_is_before(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(transaction_ends.EndResolver, "_before_own_abort", lambda *given: given[-1])


def _nothing_bounds_markers(patch: pytest.MonkeyPatch) -> None:
    def bounds(event: TransactionEvent, *_: object, **__: object) -> MarkerBounds:
        return MarkerBounds(event.last + 1, None)

    for module in (marker_bounds, transaction_ends):
        patch.setattr(module, "marker_bounds", bounds)


def _tails_are_cleaned(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FileBounds, "has_lost_tail", lambda *_: False)


class ChosenDamage(NamedTuple):
    """A mistake that only damage of certain kinds shows."""

    plant: Plant
    kinds: tuple[str, ...]


_TORN_COPY: Final = ("torn file", LOST_CHECKPOINTS)

#: The mistakes that damage of chosen kinds has to show.
CHOSEN: Final[dict[str, ChosenDamage]] = {
    "a rebuilt marker has the epoch of its data": ChosenDamage(_own_epochs, ("marker",)),
    "a guessed place of a commit is sure": ChosenDamage(_guesses_are_places, ("zeroed page",)),
    "batches of a replica lack nothing": ChosenDamage(
        _replicas_lack_nothing, ("segment of a replica", "header")
    ),
    "no file is from a replica": ChosenDamage(
        _no_file_is_foreign, ("segment of a replica", "header")
    ),
    "batches outside of their segment are trusted": ChosenDamage(
        _strays_are_trusted, ("outside of checksums",)
    ),
    "places of batches that do not fit are not lost": ChosenDamage(
        _places_are_not_lost, ("outside of checksums",)
    ),
    "a cleaner explains an index without a log": ChosenDamage(
        _orphans_are_cleaned, ("lost log file",)
    ),
    "only checkpoints show the end": ChosenDamage(_end_is_that_of_checkpoints, _TORN_COPY),
    "batches that join no neighbour are trusted": ChosenDamage(
        _nothing_is_unjoined, ("torn file", "outside of checksums")
    ),
    "batches with a wrong offset are left out": ChosenDamage(
        _nothing_is_moved, ("outside of checksums", "header")
    ),
    "a rebuilt abort ends the transactions before it": ChosenDamage(
        _aborts_end_what_is_before, ("marker", "burst")
    ),
    "a cleaner removes markers before their data": ChosenDamage(
        _nothing_bounds_markers, ("segment of a replica", "lost segment")
    ),
    "a cleaner explains each gap": ChosenDamage(_nothing_bounds_markers, (LOST_MARKERS,)),
    "a cleaner explains the tail of a file": ChosenDamage(_tails_are_cleaned, (LOST_TAIL,)),
    "indexes do not show the end": ChosenDamage(
        _indexes_show_no_end, (*_TORN_COPY, "lost snapshot")
    ),
}

MISTAKES: Final[dict[str, Plant]] = {
    "ends of transactions are not looked for": _no_ends,
    "rebuilt markers have the other kind": _opposite_markers,
    "an index without an entry proves a commit": _everything_is_covered,
    "aborts in indexes are ignored": _no_aborts_in_indexes,
    "found batches count like others": _found_is_led,
    "doubtful offsets are not reported": _no_doubt,
    "lost offsets are not reported": _no_losses,
    "records without an end are not doubtful": _no_undecided,
    "a run is not written": _last_run_is_left_out,
}
