"""The examples in the docstrings of the reader run as shown; its types are those of Arrow."""

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Final, get_args, get_type_hints

import pyarrow as pa
import pytest

import cordwood
from cordwood.records.batch_builder import BatchFields
from cordwood.workbench.partition_view import PartitionView

#: The fast set-up lacks pandas; tests/spark has it.
SLOW: Final = {"to_pandas"}
METHODS: Final = [name for name, value in vars(PartitionView).items() if inspect.isfunction(value)]
EXAMPLES: Final = {
    name: text
    for name in ("__doc__", *METHODS)
    if ">>>" in (text := inspect.getdoc(getattr(PartitionView, name, None)) or "")
    and name not in SLOW
}
EXAMPLES["__doc__"] = inspect.getdoc(PartitionView) or ""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PartitionView:
    """Return the log of three records that the examples read."""
    monkeypatch.chdir(tmp_path)
    partition = Path("kafka-logs/orders-0")
    partition.mkdir(parents=True)
    builder = cordwood.BatchBuilder(BatchFields())
    for value in (b"3 beams", b"4 posts", b"5 planks"):
        builder.append(None, value, timestamp=1_700_000_000_000)
    (partition / f"{0:020}.log").write_bytes(builder.build())
    return cordwood.open_log(partition)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_of_the_reader_runs_as_shown(name: str, log: PartitionView) -> None:
    names = {"cordwood": cordwood, "log": log}
    example = doctest.DocTestParser().get_doctest(EXAMPLES[name], names, name, None, None)
    printed: list[str] = []

    outcome = doctest.DocTestRunner().run(example, out=printed.append)

    assert outcome.attempted > 0
    assert not outcome.failed, "".join(printed)


def parts(hint: object) -> Iterator[object]:
    """Yield a type and the types that it is made of."""
    yield hint
    for each in get_args(hint):
        yield from parts(each)


@pytest.mark.parametrize("name", METHODS)
def test_types_of_the_reader_are_exact(name: str) -> None:
    class _Frame:
        """In place of pandas, which is not there."""

    known = {
        **vars(cordwood.workbench.partition_view),
        "pa": pa,
        "pd": type("pandas", (), {"DataFrame": _Frame}),
        "Explanation": object,
        "LogStat": object,
        "Verification": object,
    }

    hints = get_type_hints(getattr(PartitionView, name), known)

    assert "typing.Any" not in {str(each) for hint in hints.values() for each in parts(hint)}
    if name == "arrow":
        assert hints["return"] == Iterator[pa.RecordBatch]
