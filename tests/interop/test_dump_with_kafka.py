"""Our dump of any file is Kafka 4.3's dump of it, byte for byte, on both streams."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from cordwood.records.kernels.record_checks import KernelInspector
from cordwood.records.kernels.record_lines import KernelLineWriter
from cordwood.records.record_checks import Inspector, PlainInspector
from cordwood.records.record_lines import LineWriter, PlainLineWriter
from cordwood.workbench.dump.dump_options import DumpOptions
from tests.interop.kafka_harness.dump_corpus import corpus
from tests.interop.kafka_harness.dumper import Dumped, Dumper, our_dump
from tests.interop.kafka_harness.jars import Jars

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

OPTIONS: Final[dict[str, DumpOptions]] = {
    "": DumpOptions(folder="/"),
    "--deep-iteration": DumpOptions(folder="/", is_deep=True),
    "--print-data-log": DumpOptions(folder="/", has_data=True),
    "--verify-index-only": DumpOptions(folder="/", is_verify_only=True),
    "--index-sanity-check": DumpOptions(folder="/", is_sanity_only=True),
    "--deep-iteration --skip-record-metadata": DumpOptions(
        folder="/", is_deep=True, skip_metadata=True
    ),
    "--print-data-log --skip-record-metadata": DumpOptions(
        folder="/", has_data=True, skip_metadata=True
    ),
    "--deep-iteration --max-bytes 200": DumpOptions(folder="/", is_deep=True, max_bytes=200),
    "--max-bytes 0": DumpOptions(folder="/", max_bytes=0),
    "--max-message-size 60": DumpOptions(folder="/", max_message_size=60),
}
WORDS: Final = (
    b"isvalid: false",
    b"isValid: false",
    b"Mismatches in",
    b"timestamp mismatch",
    b"out of order",
    b"not found in",
    b"Non-consecutive",
    b"invalid bytes",
    b"is empty",
    b"Ignoring unknown",
    b"Snapshot is corrupt",
    b"endTxnMarker: ABORT",
    b"KRaftVoters",
    b"LogAppendTime",
    b"NoTimestampType",
    b"magic: 0",
    b"magic: 1",
    b"OptionalLong[",
)
WRITERS: Final[dict[str, tuple[LineWriter, Inspector]]] = {
    "plain": (PlainLineWriter(), PlainInspector()),
    "kernel": (KernelLineWriter(), KernelInspector()),
}


@pytest.fixture(scope="module")
def dumper(kafka43_jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dumper]:
    started = Dumper(kafka43_jars, tmp_path_factory.mktemp("dumper"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return corpus(tmp_path_factory.mktemp("corpus"))


def ours(asked: str, paths: list[str], kind: str) -> Dumped:
    writer, inspector = WRITERS[kind]
    return our_dump(OPTIONS[asked], paths, writer=writer, inspector=inspector)


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("asked", OPTIONS)
def test_dump_of_each_file_is_the_same(
    dumper: Dumper, files: list[Path], asked: str, kind: str
) -> None:
    for path in files:
        mine = ours(asked, [str(path)], kind)
        theirs = dumper.dump(*asked.split(), files=[path])

        assert mine == theirs, path


@pytest.mark.parametrize("asked", OPTIONS)
def test_dump_of_many_files_is_the_same(dumper: Dumper, files: list[Path], asked: str) -> None:
    """The findings of all files come at the end, in an order of their own."""
    whole = [path for path in files if not dumper.dump(*asked.split(), files=[path]).has_failed]

    mine = ours(asked, [str(path) for path in whole], "plain")
    theirs = dumper.dump(*asked.split(), files=whole)

    assert mine == theirs
    assert len(whole) > 100


def test_corpus_has_failures_and_findings_of_every_kind(dumper: Dumper, files: list[Path]) -> None:
    """Otherwise the comparisons above would prove little."""
    dumps = [dumper.dump("--deep-iteration", files=[path]) for path in files]

    text = b"".join(dump.out + dump.err for dump in dumps)

    assert sum(dump.has_failed for dump in dumps) > 20
    assert [word for word in WORDS if word not in text] == []


def test_command_line_writes_the_same_bytes(dumper: Dumper, files: list[Path]) -> None:
    path = next(path for path in files if path.suffix == ".index")
    command = [str(Path(sys.executable).with_name("cordwood")), "log", "dump"]

    mine = subprocess.run(
        [*command, "--files", str(path)], capture_output=True, check=False, cwd=path.parent
    )
    theirs = dumper.dump(files=[path])

    assert (mine.stdout, mine.stderr) == theirs[:2]
