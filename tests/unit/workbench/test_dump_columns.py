"""Records as an Arrow stream and as a Parquet file, whole up to a fault."""

import io

import pyarrow as pa
import pytest
from pyarrow import parquet

from cordwood.core.errors import CordwoodError
from cordwood.records.chunk import Selection
from cordwood.workbench.dump_formats import dump_as
from cordwood.workbench.dump_options import DumpOptions, Tools
from tests.unit.workbench.dump_samples import FOLDER, LOG, batch, tools_of


def written(output_format: str, tools: Tools, names: list[str]) -> tuple[bytes, bytes]:
    said = list(dump_as(output_format, tools, paths=names))
    streams = [
        b"".join(text for text, is_error in said if is_error == kind) for kind in (False, True)
    ]
    return streams[0], streams[1]


def offsets(output_format: str, data: bytes) -> list[int]:
    if output_format == "arrow":
        table = pa.ipc.open_stream(data).read_all()
    else:
        table = parquet.read_table(io.BytesIO(data))
    found: list[int] = table["offset"].to_pylist()
    return found


@pytest.mark.parametrize("output_format", ("arrow", "parquet"))
def test_records_of_all_files_are_rows(output_format: str) -> None:
    tools = tools_of({LOG: batch(0) + batch(2), "4.log": batch(4)})

    data, err = written(output_format, tools, [LOG, "4.log"])

    assert offsets(output_format, data) == [0, 1, 2, 3, 4, 5]
    assert err == b""


def test_selection_leaves_out_rows() -> None:
    options = DumpOptions(folder=FOLDER, selection=Selection(first_offset=1, last_offset=2))

    data, _ = written("arrow", tools_of({LOG: batch(0) + batch(2)}, options), [LOG])

    assert offsets("arrow", data) == [1, 2]


def test_what_is_cut_off_is_counted() -> None:
    tools = tools_of({LOG: batch(0) + batch(2)[:-1]})

    data, err = written("parquet", tools, [LOG])

    assert offsets("parquet", data) == [0, 1]
    assert err.startswith(b"Found ")
    assert tools.findings.is_wrong


def test_rows_before_a_fault_are_a_whole_stream() -> None:
    said = dump_as("arrow", tools_of({LOG: batch(0) + batch(2)[:-1] + b"\xff"}), paths=[LOG])
    pieces: list[bytes] = []

    with pytest.raises(CordwoodError, match="checksum"):
        pieces.extend(text for text, _ in said)

    assert offsets("arrow", b"".join(pieces)) == [0, 1]
