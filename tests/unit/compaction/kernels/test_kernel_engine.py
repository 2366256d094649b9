"""The parts of the fast engine."""

from cordwood.compaction.engine.record_marks import Marks
from cordwood.compaction.kernels.kernel_engine import KERNELS
from cordwood.compaction.kernels.kernel_key_map import KernelKeyMap
from cordwood.compaction.kernels.kernel_rewriter import KernelRewriter
from cordwood.compaction.kernels.kernel_surveyor import KernelSurveyor
from cordwood.records.kernels.tail_scan import KernelTailScanner
from tests.unit.compaction.compaction_samples import plan


def test_kernel_engine_creates_kernel_parts() -> None:
    assert isinstance(KERNELS.surveyor({3}), KernelSurveyor)
    assert isinstance(KERNELS.key_map(Marks(1), 1000, erased=frozenset(), seed=1), KernelKeyMap)
    assert isinstance(KERNELS.rewriter(plan()), KernelRewriter)
    assert isinstance(KERNELS.striders(1), KernelTailScanner)
