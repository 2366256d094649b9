"""Every kind of file as JSON, one object a line."""

import json
import struct

import pytest

from cordwood.records.batch_builder import BatchBuilder
from cordwood.records.decoder import Selection
from cordwood.workbench.dump import json_lines
from cordwood.workbench.dump.coordinator_record_parser import OFFSETS_PARSER
from cordwood.workbench.dump.dump_options import DumpOptions, DumpRun
from cordwood.workbench.dump.formats import dump_as
from tests.unit.records.segments import changed, legacy, marker
from tests.unit.workbench.dump_samples import FOLDER, LOG, batch, dump_of, outcome
from tests.unit.workbench.salvage_samples import harmed

DATA = DumpOptions(folder=FOLDER, has_data=True)
DEEP = DumpOptions(folder=FOLDER, is_deep=True)


def objects(dump_run: DumpRun, name: str = LOG) -> list[dict[str, object]]:
    out, _, error = outcome(dump_as("json", dump_run, paths=[name]))
    assert error is None
    return [json.loads(line) for line in out.splitlines()]


def test_batch_is_an_object() -> None:
    v2, old = objects(dump_of({LOG: batch(3) + legacy(0, b"v", base_offset=5)}))

    assert (v2["base_offset"], v2["last_offset"], v2["count"]) == (3, 4, 2)
    assert (v2["codec"], v2["is_valid"], v2["timestamp_type"]) == ("none", True, "CreateTime")
    assert (old["magic"], old["position"]) == (0, len(batch(3)))


def test_record_is_an_object_with_sizes_or_with_data() -> None:
    deep = objects(dump_of({LOG: batch(3)}, DEEP))[0]
    data = objects(dump_of({LOG: batch(3)}, DATA))[1]

    assert (deep["offset"], deep["key_size"], deep["header_keys"]) == (3, 2, [])
    assert (data["offset"], data["key"], data["value"], data["headers"]) == (4, "k1", "v1", [])


def test_records_of_every_format_and_control_records_are_objects() -> None:
    found = objects(dump_of({LOG: legacy(1, b"a") + marker(1, 7, is_commit=False)}, DEEP))

    assert [each.get("control") for each in found] == [None, "ABORT"]


def test_bytes_that_are_no_text_are_base64() -> None:
    builder = BatchBuilder()
    builder.append(None, b"\xff", timestamp=1)

    (found,) = objects(dump_of({LOG: bytes(builder.build())}, DATA))

    assert (found["key"], found["value"]) == (None, {"base64": "/w=="})


def test_selection_leaves_out_batches_and_records() -> None:
    options = DumpOptions(
        folder=FOLDER, is_deep=True, selection=Selection(first_offset=3, last_offset=3)
    )

    assert [each["offset"] for each in objects(dump_of({LOG: batch(0) + batch(2)}, options))] == [3]


def test_entries_of_the_other_files_are_objects() -> None:
    contents = {
        "7.index": struct.pack(">ii", 1, 80),
        "7.timeindex": struct.pack(">qi", 1000, 1),
        "7.txnindex": struct.pack(">hqqqq", 0, 1, 2, 3, 4),
        "7.snapshot": bytes.fromhex(
            "0001 7b74335c 00000001 0000000000000007 0001 00000005 000000000000002a 00000000"
            "00000000000003e8 ffffffff ffffffffffffffff"
        ),
    }

    found = [objects(dump_of(contents), name)[0] for name in contents]

    assert found[:2] == [{"offset": 8, "position": 80}, {"timestamp": 1000, "offset": 8}]
    assert (found[2]["last_stable_offset"], found[3]["producer_id"]) == (4, 7)


def test_output_before_damage_is_written() -> None:
    data = batch(0) + changed(batch(2), 57, b"\0\0\0\3")
    dump_run = dump_of({LOG: data, "7.snapshot": b"\0\2"}, DEEP)

    out, err, error = outcome(dump_as("json", dump_run, paths=["7.snapshot", "x", LOG]))

    assert err.splitlines()[1] == "Ignoring unknown file x"
    assert out.count("\n") == 4
    assert "varint" in str(error)


def test_truncated_or_changed_batch_is_invalid() -> None:
    for data in (batch()[:-1], batch()[:-1] + b"\xff"):
        dump_run = dump_of({LOG: data})
        objects(dump_run)
        assert dump_run.findings.is_wrong


def test_objects_are_written_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "TEXT_BYTES", 10)

    assert len(list(dump_as("json", dump_of({LOG: batch()}, DEEP), paths=[LOG]))) == 3


@pytest.mark.parametrize("options", (DATA, DumpOptions(folder=FOLDER)))
def test_problems_of_a_log_are_written_to_the_standard_error(options: DumpOptions) -> None:
    wrong = harmed(batch(2), 17)
    dump_run = dump_of({LOG: batch(0) + wrong + batch(4)[:20]}, options)

    _, words, error = outcome(dump_as("json", dump_run, paths=[LOG]))

    assert error is None
    assert dump_run.findings.is_wrong
    assert words.splitlines() == [
        f"{LOG}: wrong checksum at position {len(batch(0))}",
        f"Found 20 invalid bytes at the end of {LOG}",
    ]


def test_decoder_of_an_internal_topic_gives_objects() -> None:
    builder = BatchBuilder()
    builder.append(b"\0\2\0\1g", None, timestamp=1)
    options = DumpOptions(folder=FOLDER, has_data=True, record_parser=OFFSETS_PARSER)

    (found,) = objects(dump_of({LOG: bytes(builder.build())}, options))

    assert found["key"] == {"type": "2", "data": {"group": "g"}}
    assert found["value"] == "<DELETE>"
