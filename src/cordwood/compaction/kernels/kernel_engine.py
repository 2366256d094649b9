"""The engine of kernels, put together; importing it loads all of them."""

from typing import Final

from cordwood.compaction.engine.engine import Engine
from cordwood.compaction.kernels.kernel_key_collector import KernelKeyCollector, mark, survivors
from cordwood.compaction.kernels.kernel_key_map import KernelKeyMap
from cordwood.compaction.kernels.kernel_record_verifier import KernelRecordVerifier
from cordwood.compaction.kernels.kernel_rewriter import KernelRewriter
from cordwood.compaction.kernels.kernel_surveyor import KernelSurveyor
from cordwood.records.kernels.tail_scan import KernelTailScanner


def _strider(_batches: int) -> KernelTailScanner:
    """Return a strider however few batches there are: the kernels have been loaded anyway."""
    return KernelTailScanner()


KERNELS: Final = Engine(
    surveyor=KernelSurveyor,
    key_map=KernelKeyMap,
    rewriter=KernelRewriter,
    collector=KernelKeyCollector,
    survivors=survivors,
    mark=mark,
    striders=_strider,
    judges=KernelRecordVerifier,
)
