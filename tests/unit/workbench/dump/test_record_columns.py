"""Records as an Arrow stream and as a Parquet file, readable up to an error."""

import io

import pyarrow as pa
import pytest
from pyarrow import parquet

from cordwood.core.errors import CordwoodError
from cordwood.records.decoder import Selection
from cordwood.workbench.dump.dump_options import DumpOptions, DumpRun
from cordwood.workbench.dump.formats import dump_as
from tests.unit.workbench.dump_samples import FOLDER, LOG, batch, dump_of


def written(output_format: str, dump_run: DumpRun, names: list[str]) -> tuple[bytes, bytes]:
    output = list(dump_as(output_format, dump_run, paths=names))
    streams = [
        b"".join(text for text, is_error in output if is_error == kind) for kind in (False, True)
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
    dump_run = dump_of({LOG: batch(0) + batch(2), "4.log": batch(4)})

    data, err = written(output_format, dump_run, [LOG, "4.log"])

    assert offsets(output_format, data) == [0, 1, 2, 3, 4, 5]
    assert err == b""


def test_selection_leaves_out_rows() -> None:
    options = DumpOptions(folder=FOLDER, selection=Selection(first_offset=1, last_offset=2))

    data, _ = written("arrow", dump_of({LOG: batch(0) + batch(2)}, options), [LOG])

    assert offsets("arrow", data) == [1, 2]


def test_trailing_bytes_are_counted() -> None:
    dump_run = dump_of({LOG: batch(0) + batch(2)[:-1]})

    data, err = written("parquet", dump_run, [LOG])

    assert offsets("parquet", data) == [0, 1]
    assert err.startswith(b"Found ")
    assert dump_run.findings.is_wrong


def test_rows_before_a_fault_are_a_whole_stream() -> None:
    output = dump_as("arrow", dump_of({LOG: batch(0) + batch(2)[:-1] + b"\xff"}), paths=[LOG])
    pieces: list[bytes] = []

    with pytest.raises(CordwoodError, match="checksum"):
        pieces.extend(text for text, _ in output)

    assert offsets("arrow", b"".join(pieces)) == [0, 1]
