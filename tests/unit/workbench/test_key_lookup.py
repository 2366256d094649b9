"""Every record of a key is found, aborted ones too."""

from cordwood.records.plain_decoder import PlainDecoder
from cordwood.workbench.key_lookup import count_key_records, find_key_offsets
from tests.unit.compaction.compaction_samples import batch, marker, sent
from tests.unit.storage.reader_samples import directory, reader


def test_offsets_cover_all_records_of_the_keys_from_the_start_offset() -> None:
    data = batch(0, "a1 b1 -1 a-") + sent(4, "b2 c1") + marker(6, is_commit=False)
    files = directory(log_0=data)

    found = [
        find_key_offsets(reader(files), keys, start=start, decoder=PlainDecoder())
        for keys, start in (({b"a", b"b"}, 0), ({b"b"}, 2), ({b"d"}, 0))
    ]

    assert found == [(0, 1, 3, 4), (4,), ()]


def test_records_of_each_key_are_counted_up_to_the_end_offset() -> None:
    data = batch(0, "a1 b1 -1 a-") + sent(4, "b2 c1") + marker(6, is_commit=False)
    files = directory(log_0=data)

    found = count_key_records(reader(files), (b"a", b"b", b"d"), end=4, decoder=PlainDecoder())

    assert found == {b"a": 2, b"b": 1, b"d": 0}
