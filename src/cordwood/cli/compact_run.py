"""Work of `cordwood compact`: compacts partitions one by one, and prints a report of each.

A partition that fails does not stop the others; Ctrl-C does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple, TextIO

import typer

from cordwood.cli.exit_codes import FOUND_WRONG, interruptible
from cordwood.cli.log_sizes import count_log_bytes
from cordwood.cli.progress import ByteProgress, show_progress
from cordwood.cli.terminal import print_message, print_output
from cordwood.compaction.certificate import Certificate
from cordwood.compaction.cleaning_job import CleaningStoppedError
from cordwood.compaction.kernels import PAYS_FROM, engine
from cordwood.compaction.passes.cleaning_pass import InlineRunner
from cordwood.compaction.passes.key_erasure import KeyForm, parse_keys
from cordwood.core.counts import counted, offsets_of_log
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Files, Ports
from cordwood.core.system import SystemClock, SystemRandom, ThreadWorker
from cordwood.records.kernels import decoder, state_scanner
from cordwood.storage.files.atomic_write import read_whole
from cordwood.storage.reader.path_resolution import open_reader
from cordwood.workbench import compact as work
from cordwood.workbench.compact import CompactOrder, CompactReport, CompactTarget
from cordwood.workbench.record_digest import RecordReaders

#: A record takes about this much at least, and more than that in memory.
_RECORD_BYTES: Final = 64


class ReportOutput(NamedTuple):
    """The format of reports, and the file to which certificates are appended.

    `key_lines` are the keys to erase with their lines in the file of the caller.
    """

    as_json: bool = False
    certificate_path: str | None = None
    key_lines: Mapping[bytes, int] = MappingProxyType({})

    @contextmanager
    def opened(self) -> Iterator["ReportPrinter"]:
        """Yield the printer of the results of a command; then exit with 1 if one of them is bad.

        The file is opened first, so that a wrong path fails before any partition is compacted.
        """
        with ExitStack() as stack:
            file: TextIO | None = None
            if self.certificate_path is not None:
                file = stack.enter_context(Path(self.certificate_path).open("a", encoding="utf-8"))
            printer = ReportPrinter(self, file)
            yield printer
            printer.print_absent_keys()
        if printer.has_problem:
            raise typer.Exit(FOUND_WRONG)


class ReportPrinter:
    """Printer of the results of all partitions; a failure, or a key that none has, is bad."""

    def __init__(self, output: ReportOutput, file: TextIO | None) -> None:
        self.has_problem = False
        self._output = output
        self._file = file
        self._absent: frozenset[bytes] | None = None
        self._paths: list[str] = []

    def print_report(self, report: CompactReport) -> None:
        """Print a report, and append its certificate."""
        as_json = self._output.as_json
        lines = [*report_lines(report), *_erased_lines(report, self._output.key_lines)]
        print_output(report.to_json() if as_json else "\n".join(lines))
        absent = frozenset(report.absent_keys)
        self._absent = absent if self._absent is None else self._absent & absent
        self._paths.append(report.path)
        if self._file is not None and report.certificate is not None:
            self._file.write(f"{report.certificate.to_json()}\n")
            self._file.flush()

    def print_failure(self, error: CordwoodError) -> None:
        """Print the error of a partition that failed."""
        self._print_problem(str(error))

    def print_absent_keys(self) -> None:
        """Print the keys to erase that no partition has."""
        for line in sorted(self._output.key_lines[key] for key in self._absent or ()):
            self._print_problem(
                f"{', '.join(self._paths)}: no record has the key in line {line} of the keys to "
                "erase; compare it with the key in the log, --key-format and line ends included"
            )

    def _print_problem(self, text: str) -> None:
        print_message(f"cordwood: {text}")
        self.has_problem = True


def read_keys(files: Files, path: str, *, form: KeyForm) -> dict[bytes, int]:
    """Return the keys listed in a file, and their lines."""
    return parse_keys(read_whole(files, path), form, path=path)


def compact(
    files: Files,
    targets: Sequence[CompactTarget],
    *,
    order: CompactOrder,
    output: ReportOutput,
    is_dry_run: bool,
) -> None:
    """Compact partitions, or print the plan of that."""
    size = count_work(files, [target.path for target in targets])
    with output.opened() as printer, interruptible() as is_stopped, show_progress(None) as bar:
        ports = Ports(files=files, clock=SystemClock(), random=SystemRandom())
        do = partial(work.plan_compaction, ports, order=order, decoder=decoder())
        if not is_dry_run:
            worker = ThreadWorker(1)
            runner = InlineRunner(files, engine(size), worker)
            do = partial(
                work.compact,
                ports,
                order=order,
                readers=RecordReaders(decoder(), state_scanner(), worker),
                run=partial(runner.run, control=_PassMonitor(is_stopped, bar)),
            )
        for path, found in targets:
            try:
                printer.print_report(do(path, found=found))
            except CleaningStoppedError:
                break
            except work.FAILURES_OF_A_LOG as error:
                printer.print_failure(error)


def count_work(files: Files, paths: Sequence[str]) -> int:
    """Return the size of logs, or that of their records if these are compressed much smaller."""
    size = count_log_bytes(paths)
    if size >= PAYS_FROM:
        return size
    return max(size, _RECORD_BYTES * sum(_count_records(files, path) for path in paths))


def _count_records(files: Files, path: str) -> int:
    """Return the number of records by the headers of batches; 0 for a log that is damaged."""
    try:
        with closing(open_reader(files, path)) as reader:
            return sum(max(0, found.header.record_count) for found in reader.batches())
    except CordwoodError:
        return 0


def _erased_lines(report: CompactReport, key_lines: Mapping[bytes, int]) -> Iterator[str]:
    """Yield how many records of each key a pass erases, by the lines of the keys in the file."""
    verb = "to erase" if report.certificate is None else "erased"
    counts = sorted((key_lines[key], count) for key, count in report.erased_keys)
    for line, count in counts:
        yield f"key in line {line}: {counted(count, 'record')} {verb}"


def report_lines(report: CompactReport) -> Iterable[str]:
    """Yield the lines of a report: the log, its segments, and the result."""
    yield (
        f"{report.path}: {offsets_of_log(report.log_start, report.log_end)}, "
        f"clean up to {report.first_dirty}, dirty ratio {report.dirty_ratio:.2f}"
    )
    if report.warning is not None:
        yield f"note: {report.warning}"
    for group in report.groups:
        names = ", ".join(map(str, group))
        is_one = len(group) == 1
        yield f"segment {names}: rewritten" if is_one else f"segments {names}: rewritten into one"
    for held in report.held:
        yield f"segment {held.base_offset}: {held.size:,} bytes kept: {'; '.join(held.holds)}"
    if report.newer:
        count, last = counted(len(report.newer), "record"), report.newer[-1]
        yield f"note: kept {count} of erased keys, the last one at offset {last}"
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
