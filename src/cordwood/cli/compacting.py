"""Compacts partitions one after the other, and says what was done.

One that comes to nothing does not keep the next from its turn; Ctrl-C does.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, TextIO

import typer

from cordwood.cli.endings import FOUND_WRONG
from cordwood.cli.interrupts import interruptible
from cordwood.cli.output import say, tell
from cordwood.cli.progress import Bar, progress
from cordwood.cli.warming import log_bytes, warm_for
from cordwood.compaction.certificate import Certificate
from cordwood.compaction.erasing import KeyForm, keys_in
from cordwood.compaction.job import CleaningFailedError, CleaningStoppedError
from cordwood.compaction.kernels import engine
from cordwood.compaction.passes import InlineRunner
from cordwood.core.ports import Files
from cordwood.core.system import SystemClock, SystemRandom, ThreadWorker
from cordwood.records.kernels import decoder
from cordwood.storage.atomic import read_whole
from cordwood.workbench import compact as work
from cordwood.workbench.compact import CompactOrder, CompactReport, CompactTools, PlaceToCompact


class Telling(NamedTuple):
    """How it is said what was done, and in which file certificates are kept."""

    as_json: bool = False
    certificates: str | None = None

    @contextmanager
    def opened(self) -> Iterator[Callable[[CompactReport], None]]:
        """Yield what prints a report, and keeps its certificate in a file that is open by then."""
        with ExitStack() as stack:
            kept: TextIO | None = None
            if self.certificates is not None:
                kept = stack.enter_context(Path(self.certificates).open("a", encoding="utf-8"))

            def tell_of(report: CompactReport) -> None:
                say(report.to_json() if self.as_json else "\n".join(lines_of(report)))
                if kept is not None and report.certificate is not None:
                    kept.write(f"{report.certificate.to_json()}\n")
                    kept.flush()

            yield tell_of


def keys_in_file(files: Files, path: str, *, form: KeyForm) -> frozenset[bytes]:
    """Return the keys that a file says."""
    return keys_in(read_whole(files, path), form, path=path)


def compact(
    files: Files,
    places: Sequence[PlaceToCompact],
    *,
    order: CompactOrder,
    telling: Telling,
    is_dry_run: bool,
) -> None:
    """Compact partitions, or say what that would be; exit with 1 if one has come to nothing."""
    has_failed = False
    size = log_bytes(place.path for place in places)
    warm_for(size)
    with telling.opened() as tell_of, interruptible() as is_stopped, progress(None) as bar:
        tools = CompactTools(
            files=files,
            clock=SystemClock(),
            random=SystemRandom(),
            runner=InlineRunner(files, engine(size), ThreadWorker(1)),
            control=_Control(is_stopped, bar),
            decoder=decoder(),
        )
        do = work.plan_compaction if is_dry_run else work.compact
        for path, found in places:
            try:
                tell_of(do(tools, path, found=found, order=order))
            except CleaningStoppedError:
                break
            except CleaningFailedError as error:
                tell(f"cordwood: {error}")
                has_failed = True
    if has_failed:
        raise typer.Exit(FOUND_WRONG)


def lines_of(report: CompactReport) -> Iterable[str]:
    """Yield a report in lines: the log, its segments, what has become of them."""
    yield (
        f"{report.path}: offsets {report.log_start} to {report.log_end - 1}, "
        f"clean up to {report.first_dirty}, dirty ratio {report.dirty_ratio:.2f}"
    )
    if report.warning is not None:
        yield f"note: {report.warning}"
    for group in report.groups:
        yield f"segments {', '.join(map(str, group))}: rewritten as one"
    for held in report.held:
        yield f"segment {held.base_offset}: {held.size:,} bytes stay: {'; '.join(held.holds)}"
    if report.newer:
        count, last = len(report.newer), report.newer[-1]
        yield f"note: {count} records of erased keys stay, the last one at offset {last}"
    if report.certificate is not None:
        yield _done(report.certificate)
    elif not report.groups:
        yield "nothing to compact"


def _done(certificate: Certificate) -> str:
    counts = certificate.counts
    return (
        f"compacted up to {certificate.end}: {counts.records_kept:,} of {counts.records_read:,} "
        f"records and {counts.bytes_kept:,} of {counts.bytes_read:,} bytes stay; "
        f"verified: {certificate.verified}"
    )


class _Control:
    """Goes along with a pass: shows how far it is, and stops it on Ctrl-C."""

    def __init__(self, is_stopped: Callable[[], bool], bar: Bar) -> None:
        self.is_stopped = is_stopped
        self.expect = bar.expect
        self.on_bytes = bar
