"""Files of a log as text: the lines of Kafka 4.3's dump tool, of its standard output and error.

    .log .checkpoint    batches, and their records when asked
    .index .timeindex   entries, each compared with the log beside it
    .txnindex .snapshot entries

Everything comes out as `Said`, in the order in which it is found; what the tool keeps to the end
(offsets that do not match, times out of order, offsets that do not follow) is said at the end. A
file that cannot be read on ends the dump, as it ends Kafka's; the error then rises.

docs/formats/dump.md lists what differs from Kafka's tool.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from cordwood.core.java import absolute_path, file_path
from cordwood.workbench.dump_log import dump_checkpoint, dump_log
from cordwood.workbench.dump_options import DumpedFile, Said, Tools, complained, said
from cordwood.workbench.dump_side_files import (
    dump_index,
    dump_producers,
    dump_time_index,
    dump_transactions,
)

DumpOne: TypeAlias = Callable[[Tools, DumpedFile], Iterator[Said]]

#: What is done with a file, by the last part of its name.
DUMPS: Final[dict[str, DumpOne]] = {
    ".log": dump_log,
    ".checkpoint": dump_checkpoint,
    ".index": dump_index,
    ".timeindex": dump_time_index,
    ".txnindex": dump_transactions,
    ".snapshot": dump_producers,
}


def dump(tools: Tools, paths: Sequence[str]) -> Iterator[Said]:
    """Dump files one after the other, then say what `tools.findings` has gathered."""
    for path in paths:
        shown = file_path(path)
        file = DumpedFile(shown, absolute_path(shown, folder=tools.options.folder))
        yield said(f"Dumping {shown}\n")
        if file.suffix in DUMPS:
            yield from DUMPS[file.suffix](tools, file)
        else:
            yield complained(f"Ignoring unknown file {shown}\n")
    for line in tools.findings.lines():
        yield complained(line)
