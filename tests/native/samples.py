"""The name of the module of sample kernels, for tests that must not import it."""

from typing import Final

SAMPLES: Final = "tests.native.sample_kernels"
