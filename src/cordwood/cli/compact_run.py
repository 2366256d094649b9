"""Work of `cordwood compact`: compacts partitions one by one, and prints a report of each.

A partition that fails does not stop the others; Ctrl-C does.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, TextIO

import typer

from cordwood.cli.exit_codes import FOUND_WRONG, interruptible
from cordwood.cli.kernel_warmup import count_log_bytes, warm_kernels_for
from cordwood.cli.progress import ByteProgress, show_progress
from cordwood.cli.terminal import print_message, print_output
from cordwood.compaction.certificate import Certificate
from cordwood.compaction.cleaning_job import CleaningFailedError, CleaningStoppedError
from cordwood.compaction.kernels import engine
from cordwood.compaction.passes.cleaning_pass import InlineRunner
from cordwood.compaction.passes.key_erasure import KeyForm, parse_keys
from cordwood.core.ports import Files, Ports
from cordwood.core.system import SystemClock, SystemRandom, ThreadWorker
from cordwood.records.kernels import decoder
from cordwood.storage.files.atomic_write import read_whole
from cordwood.workbench import compact as work
from cordwood.workbench.compact import CompactOrder, CompactReport, CompactTarget


class ReportOutput(NamedTuple):
    """The format of reports, and the file to which certificates are appended."""

    as_json: bool = False
    certificate_path: str | None = None

    @contextmanager
    def opened(self) -> Iterator[Callable[[CompactReport], None]]:
        """Yield a function that prints a report and appends its certificate.

        The file is opened first, so that a wrong path fails before any partition is compacted.
        """
        with ExitStack() as stack:
            file: TextIO | None = None
            if self.certificate_path is not None:
                file = stack.enter_context(Path(self.certificate_path).open("a", encoding="utf-8"))

            def print_report(report: CompactReport) -> None:
                print_output(report.to_json() if self.as_json else "\n".join(report_lines(report)))
                if file is not None and report.certificate is not None:
                    file.write(f"{report.certificate.to_json()}\n")
                    file.flush()

            yield print_report


def read_keys(files: Files, path: str, *, form: KeyForm) -> frozenset[bytes]:
    """Return the keys listed in a file."""
    return parse_keys(read_whole(files, path), form, path=path)


def compact(
    files: Files,
    targets: Sequence[CompactTarget],
    *,
    order: CompactOrder,
    output: ReportOutput,
    is_dry_run: bool,
) -> None:
    """Compact partitions, or print the plan of that; exit with 1 if one of them fails."""
    has_failed = False
    size = count_log_bytes(target.path for target in targets)
    warm_kernels_for(size)
    with output.opened() as print_report, interruptible() as is_stopped, show_progress(None) as bar:
        do = partial(
            work.plan_compaction if is_dry_run else work.compact,
            Ports(files=files, clock=SystemClock(), random=SystemRandom()),
            order=order,
            decoder=decoder(),
        )
        if not is_dry_run:
            runner = InlineRunner(files, engine(size), ThreadWorker(1))
            do = partial(do, run=partial(runner.run, control=_PassMonitor(is_stopped, bar)))
        for path, found in targets:
            try:
                print_report(do(path, found=found))
            except CleaningStoppedError:
                break
            except CleaningFailedError as error:
                print_message(f"cordwood: {error}")
                has_failed = True
    if has_failed:
        raise typer.Exit(FOUND_WRONG)


def report_lines(report: CompactReport) -> Iterable[str]:
    """Yield the lines of a report: the log, its segments, and the result."""
    yield (
        f"{report.path}: offsets {report.log_start} to {report.log_end - 1}, "
        f"clean up to {report.first_dirty}, dirty ratio {report.dirty_ratio:.2f}"
    )
    if report.warning is not None:
        yield f"note: {report.warning}"
    for group in report.groups:
        yield f"segments {', '.join(map(str, group))}: rewritten into one"
    for held in report.held:
        yield f"segment {held.base_offset}: {held.size:,} bytes kept: {'; '.join(held.holds)}"
    if report.newer:
        count, last = len(report.newer), report.newer[-1]
        yield f"note: {count} records of erased keys are kept, the last one at offset {last}"
    if report.certificate is not None:
        yield _result_line(report.certificate)
    elif not report.groups:
        yield "nothing to compact"


def _result_line(certificate: Certificate) -> str:
    counts = certificate.counts
    return (
        f"compacted up to {certificate.end}: kept {counts.records_kept:,} of "
        f"{counts.records_read:,} records and {counts.bytes_kept:,} of {counts.bytes_read:,} bytes;"
        f" verified: {certificate.verified}"
    )


class _PassMonitor:
    """The callbacks of a running pass: progress, and a stop on Ctrl-C."""

    def __init__(self, is_stopped: Callable[[], bool], bar: ByteProgress) -> None:
        self.is_stopped = is_stopped
        self.expect = bar.expect
        self.on_bytes = bar
