"""A copy of a corrected batch gets the same base offset."""

from cordwood.workbench.salvage.offset_corrections import OffsetCorrections
from cordwood.workbench.salvage.salvage import salvage
from tests.unit.workbench.salvage_samples import SOURCE, batch, chain_of, directory, ports

ZERO = "00000000000000000000.log"


def test_copy_of_a_corrected_batch_gets_its_offset() -> None:
    (wrong,) = chain_of(batch(563)).batches
    corrections = OffsetCorrections()

    first = corrections.split([wrong._replace(offset=4)])
    second = corrections.split([wrong])
    other = corrections.split([wrong._replace(header=wrong.header._replace(crc=1))])

    assert [[each.offset for each in found] for found in first] == [[4], []]
    assert [[each.offset for each in found] for found in second] == [[], [4]]
    assert [[each.offset for each in found] for found in other] == [[563], []]


def test_copy_of_a_segment_with_a_wrong_offset_adds_nothing() -> None:
    contents = {ZERO: batch(0) + batch(563), "copy.log": batch(563)}
    beside = {"replication-offset-checkpoint": b"0\n1\nt 0 8\n"}

    report = salvage(ports(directory(contents, beside=beside)), SOURCE, out="/out")

    assert (report.is_whole, report.log_end) == (True, 8)
    assert report.notes == ("1 duplicate batches were left out",)
