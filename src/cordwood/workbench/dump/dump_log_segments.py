"""Log files as text: the lines of Kafka 4.3's dump tool (Kafka: `DumpLogSegments`).

    .log .checkpoint    batches, and their records with --deep-iteration
    .index .timeindex   entries, each compared with the log file next to it
    .txnindex .snapshot entries

The output is a sequence of `OutputText`, in the order of the files. Mismatches, timestamps out of
order and non-consecutive offsets are printed at the end, as the tool does. An unreadable file ends
the dump, as it ends Kafka's; the error is raised after the output before it.

docs/formats/dump.md lists the differences from Kafka's tool.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from cordwood.core.java_text import absolute_path, file_path
from cordwood.workbench.dump.dump_options import (
    DumpedFile,
    DumpRun,
    OutputText,
    to_stderr,
    to_stdout,
)
from cordwood.workbench.dump.index_dump import (
    dump_index,
    dump_producers,
    dump_time_index,
    dump_transactions,
)
from cordwood.workbench.dump.log_lines import dump_checkpoint, dump_log

DumpOne: TypeAlias = Callable[[DumpRun, DumpedFile], Iterator[OutputText]]

#: The function for each file name extension.
DUMPS: Final[dict[str, DumpOne]] = {
    ".log": dump_log,
    ".checkpoint": dump_checkpoint,
    ".index": dump_index,
    ".timeindex": dump_time_index,
    ".txnindex": dump_transactions,
    ".snapshot": dump_producers,
}


def dump(run: DumpRun, paths: Sequence[str]) -> Iterator[OutputText]:
    """Dump files one after the other, then print the findings."""
    for path in paths:
        shown = file_path(path)
        file = DumpedFile(shown, absolute_path(shown, folder=run.options.folder))
        yield to_stdout(f"Dumping {shown}\n")
        if file.suffix in DUMPS:
            yield from DUMPS[file.suffix](run, file)
        else:
            yield to_stderr(f"Ignoring unknown file {shown}\n")
    for line in run.findings.lines():
        yield to_stderr(line)
