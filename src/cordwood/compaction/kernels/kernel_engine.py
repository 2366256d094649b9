"""The engine of kernels, put together; importing it loads all of them."""

from typing import Final

from cordwood.compaction.engine import Engine
from cordwood.compaction.kernels.kernel_judge import KernelJudge
from cordwood.compaction.kernels.kernel_key_collector import KernelKeyCollector, mark, survivors
from cordwood.compaction.kernels.kernel_key_map import KernelKeyMap
from cordwood.compaction.kernels.kernel_rewriter import KernelRewriter
from cordwood.compaction.kernels.kernel_surveyor import KernelSurveyor
from cordwood.records.kernels.stride import KernelStrider


def _strider(_batches: int) -> KernelStrider:
    """Return a strider however few batches there are: numba has been loaded anyway."""
    return KernelStrider()


KERNELS: Final = Engine(
    surveyor=KernelSurveyor,
    key_map=KernelKeyMap,
    rewriter=KernelRewriter,
    collector=KernelKeyCollector,
    survivors=survivors,
    mark=mark,
    striders=_strider,
    judges=KernelJudge,
)
