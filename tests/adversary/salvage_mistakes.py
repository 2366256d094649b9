"""Mistakes that are planted in salvage, by name; the oracle has to find each of them."""

from collections.abc import Callable
from typing import Final

import pytest

from cordwood.workbench.salvage import batch_chain, new_log, salvage, transaction_ends
from cordwood.workbench.salvage import transaction_evidence as evidence
from cordwood.workbench.salvage.batch_chain import FileBounds
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch, Trust
from cordwood.workbench.salvage.transaction_ends import RebuiltMarker, TransactionEnds

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
    patch.setattr(salvage, "_without", lambda *_: [])


def _no_undecided(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(transaction_ends.EndResolver, "_doubt", lambda *_: None)


def _last_run_is_left_out(patch: pytest.MonkeyPatch) -> None:
    in_order = new_log.ordered_batches
    patch.setattr(
        new_log,
        "ordered_batches",
        lambda contents, windows: in_order(
            contents._replace(runs=[*contents.runs[:-2], contents.runs[-1]]), windows
        ),
    )


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
