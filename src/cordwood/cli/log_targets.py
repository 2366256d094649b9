"""Partitions that the path of a command names: one, or all of a log directory.

Directories that do not belong to a partition are skipped with a note on the standard error.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import typer

from cordwood.cli.exit_codes import FOUND_WRONG, GOOD, failure_of
from cordwood.cli.terminal import print_message, print_output
from cordwood.core.counts import first_names
from cordwood.core.errors import CordwoodError

if TYPE_CHECKING:
    from cordwood.core.ports import Files
    from cordwood.workbench.verify.findings import Verdict


def note_foreign_directories(files: "Files", paths: Iterable[str]) -> None:
    """Print a note for each log directory with directories that do not belong to a partition."""
    from cordwood.storage.reader.path_resolution import foreign_directories  # noqa: PLC0415  # help needs none
    from cordwood.workbench.partition_paths import is_log_directory  # noqa: PLC0415  # as above

    for path in paths:
        foreign = foreign_directories(files, path) if is_log_directory(files, path) else []
        if foreign:
            print_message(f"note: {path}: skipped, not a partition: {first_names(foreign)}")


def partitions_at(files: "Files", path: str) -> list[str]:
    """Return the partitions of a log directory; any other path unchanged.

    A path that is neither a log directory nor a partition is left to the command, with its error.
    """
    from cordwood.core.errors import LogDirectoryError  # noqa: PLC0415  # help needs none
    from cordwood.storage.reader.path_resolution import partition_paths  # noqa: PLC0415  # as above

    try:
        found = partition_paths(files, path)
    except LogDirectoryError:
        return [path]
    note_foreign_directories(files, [path])
    return found


def verdict_lines(path: str, verdict: "Verdict | None") -> list[str]:
    """Return the line for a verdict; none for a whole partition."""
    from cordwood.workbench.verify.findings import Verdict  # noqa: PLC0415  # help needs none

    return [] if verdict in (None, Verdict.WHOLE) else [f"verdict: {path}: {verdict}"]


class PartitionReport(Protocol):
    """The report of a command on one partition."""

    @property
    def verdict(self) -> "Verdict | None":
        """The verdict on the partition as the command found it."""

    def to_json(self) -> str:
        """Return the report as a JSON object."""


R = TypeVar("R", bound=PartitionReport)


class PartitionReports(Generic[R]):
    """The reports of a command on several partitions, and the exit code that follows."""

    def __init__(self, text: Callable[[R], str], *, as_json: bool) -> None:
        self._text = text
        self._as_json = as_json
        self._is_single = False
        self._shown: list[str] = []
        self._codes = [GOOD]

    def run(
        self,
        paths: Sequence[str],
        work: Callable[[str], R],
        *,
        is_single: bool,
    ) -> None:
        """Run the command on each partition; one that fails does not stop the others.

        With `is_single` the caller has named one partition, whose failure is raised.
        """
        self._is_single = is_single and len(paths) == 1
        for path in paths:
            try:
                self._add(work(path))
            except (CordwoodError, OSError) as error:
                if self._is_single:
                    raise
                message, code = failure_of(error)
                print_message(f"cordwood: {message}")
                self._codes.append(code)

    def finish(self) -> None:
        """Print the JSON of all partitions, and exit with the highest code."""
        if self._as_json and self._is_single:
            print_output(self._shown[0])
        elif self._as_json:
            print_output(f'{{"partitions": [{", ".join(self._shown)}]}}')
        if max(self._codes) != GOOD:
            raise typer.Exit(max(self._codes))

    def _add(self, report: R) -> None:
        from cordwood.workbench.verdicts import BAD_VERDICTS  # noqa: PLC0415  # help needs none

        if report.verdict in BAD_VERDICTS:
            self._codes.append(FOUND_WRONG)
        if self._as_json:
            self._shown.append(report.to_json())
        else:
            print_output(self._text(report))
