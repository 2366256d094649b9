"""The kernel surveyor has the same result as the plain one."""

import pytest

from cordwood.compaction.engine.header_survey import PlainSurveyor
from cordwood.compaction.kernels import kernel_surveyor
from cordwood.compaction.kernels.kernel_surveyor import KernelSurveyor
from cordwood.core.errors import BadRecordsError
from cordwood.records.compression import Codec
from tests.unit.compaction.compaction_samples import batch, marker, old, sent
from tests.unit.storage.produced import patched

PLAIN = batch(0, "a1 b2 c3")
INPUTS = {
    "nothing": b"",
    "plain": PLAIN + batch(3, "d4"),
    "transactions": PLAIN + sent(3, "a4") + marker(4, is_commit=True) + PLAIN,
    "old ones between": PLAIN + old(3, "a1 b2", codec=Codec.GZIP) + old(5, "c3") + PLAIN,
    "cut off": PLAIN + PLAIN[:-1],
}


@pytest.mark.parametrize("data", INPUTS.values(), ids=INPUTS.keys())
@pytest.mark.parametrize("last_offsets", ((), (2, 5), (4,)))
def test_surveyors_see_the_same(data: bytes, last_offsets: tuple[int, ...]) -> None:
    assert KernelSurveyor(last_offsets).summarize(data) == PlainSurveyor(last_offsets).summarize(
        data
    )


def test_surveyor_flags_more_batches_than_one_table_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_surveyor, "_MOST_FLAGGED", 2)
    data = sent(0, "a1") * 7 + PLAIN

    assert KernelSurveyor().summarize(data) == PlainSurveyor().summarize(data)


def test_surveyor_raises_the_same_error_as_the_plain_one() -> None:
    data = PLAIN + patched(PLAIN, 57, (-1).to_bytes(4, signed=True))
    said = []

    for surveyor in (KernelSurveyor(), PlainSurveyor()):
        with pytest.raises(BadRecordsError) as refused:
            surveyor.summarize(data)
        said.append(str(refused.value))

    assert said[0] == said[1]
