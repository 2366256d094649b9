"""The compression benchmark runs, small, so that it cannot rot."""

from benchmarks.micro.compression import BATCH_SIZES, figures, payload


def test_figures_cover_every_codec_and_batch_size_when_small() -> None:
    measured = figures(1 << 20)

    assert len(measured) == 4 * len(BATCH_SIZES)
    assert all(figure.value > 0 and figure.ratio for figure in measured)


def test_payload_is_the_same_every_time() -> None:
    assert len(payload(5000)) == 5000
    assert payload(5000) == payload(6000)[:5000]
