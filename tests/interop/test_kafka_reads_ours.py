"""Kafka's own classes see in our batches what we were asked to write; uncompressed, every byte is
the one that Kafka itself would have written.
"""

from dataclasses import replace
from typing import Final

import pytest

from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.ours import read_ours, write_ours
from tests.interop.kafka_harness.spec import Spec, without_sequences

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

SPECS: Final = {
    **{f"v2-{name}": spec for name, spec in samples.v2_specs()},
    **{f"v{magic}-{name}": spec for magic in (0, 1) for name, spec in samples.legacy_specs(magic)},
}
UNCOMPRESSED: Final = {name: spec for name, spec in SPECS.items() if spec.codec == "none"}
LEVELS: Final = [("gzip", 1), ("gzip", 9), ("lz4", 1), ("lz4", 17), ("zstd", -7), ("zstd", 19)]


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_kafka_reads_the_specified_records(kafka43: Oracle, spec: Spec) -> None:
    data = write_ours(spec)

    theirs = kafka43.read(data)

    records = [record for batch in theirs for record in batch.records]
    assert without_sequences(records) == samples.as_read(spec)
    assert theirs == read_ours(data)


@pytest.mark.parametrize("spec", UNCOMPRESSED.values(), ids=UNCOMPRESSED)
def test_uncompressed_batch_is_byte_for_byte_kafkas(kafka43: Oracle, spec: Spec) -> None:
    ours = write_ours(spec)

    theirs = kafka43.write(spec)

    assert ours.hex() == theirs.hex()


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_batch_has_the_header_that_kafka_writes(kafka43: Oracle, spec: Spec) -> None:
    (*_, ours) = read_ours(write_ours(spec))

    (*_, theirs) = kafka43.read(kafka43.write(spec))

    assert replace(ours, crc=0, size=0) == replace(theirs, crc=0, size=0)


@pytest.mark.parametrize(("codec", "level"), LEVELS)
def test_kafka_reads_batches_compressed_at_each_level(
    kafka43: Oracle, codec: str, level: int
) -> None:
    spec = replace(SPECS[f"v2-many-{codec}"], level=level)

    (batch,) = kafka43.read(write_ours(spec))

    assert batch.records == spec.records


@pytest.mark.parametrize("magic", (0, 1))
def test_old_kafka_reads_our_batches(kafka39: Oracle, magic: int) -> None:
    specs = [spec for name, spec in SPECS.items() if name.startswith(f"v{magic}-")]

    theirs = [kafka39.read(write_ours(spec)) for spec in specs]

    assert [[record for batch in seen for record in batch.records] for seen in theirs] == [
        list(spec.records) for spec in specs
    ]
