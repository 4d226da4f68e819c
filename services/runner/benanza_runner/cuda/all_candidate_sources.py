"""All adapters that offer candidates: of libraries, and of the kernels of this package."""

from benanza_runner.cuda.candidate_source import CandidateSource
from benanza_runner.cuda.in_parts.projected_attention import ProjectedAttentions
from benanza_runner.cuda.kernels.attention import AttentionKernels
from benanza_runner.cuda.kernels.channel_normalisation import ChannelNormalisationKernels
from benanza_runner.cuda.kernels.experts.candidates import ExpertKernels
from benanza_runner.cuda.kernels.integers.few_rows import FewRowsOfEightBits
from benanza_runner.cuda.kernels.integers.products import IntegerProducts
from benanza_runner.cuda.kernels.integers.tensor_cores import EightBitsOnTensorCores
from benanza_runner.cuda.kernels.latent.attention import LatentAttention
from benanza_runner.cuda.kernels.movement import MovementKernels
from benanza_runner.cuda.kernels.one_shot import OneShotCollectives
from benanza_runner.cuda.kernels.packed.by_warpgroups import PackedByWarpgroups
from benanza_runner.cuda.kernels.packed.in_fragments import PackedInFragments
from benanza_runner.cuda.kernels.packed.products import PackedProducts
from benanza_runner.cuda.kernels.packed.tensor_cores import PackedOnTensorCores
from benanza_runner.cuda.kernels.pooling import PoolingKernels
from benanza_runner.cuda.kernels.rankings import RankingKernels
from benanza_runner.cuda.kernels.recurrences.linear_attention import LinearAttentionKernels
from benanza_runner.cuda.kernels.regions.candidates import RegionKernels
from benanza_runner.cuda.kernels.regions.in_place import InPlaceViews
from benanza_runner.cuda.kernels.row_products import RowProducts
from benanza_runner.cuda.kernels.scattering import ScatteringKernels
from benanza_runner.cuda.kernels.split_attention import SplitAttention
from benanza_runner.cuda.kernels.transposed import TransposedKernels
from benanza_runner.cuda.libraries.cublaslt.integers import CublasLtIntegers
from benanza_runner.cuda.libraries.cublaslt.packed import CublasLtPacked
from benanza_runner.cuda.libraries.cublaslt.products import CublasLt
from benanza_runner.cuda.libraries.cublaslt.quantised import CublasLtQuantised
from benanza_runner.cuda.libraries.cublaslt.windows import CublasLtWindows
from benanza_runner.cuda.libraries.cudnn_graph import CudnnGraph
from benanza_runner.cuda.libraries.cudnn_legacy.convolution import CudnnConvolution
from benanza_runner.cuda.libraries.cudnn_legacy.elementwise import CudnnElementwise
from benanza_runner.cuda.libraries.cudnn_legacy.library import CudnnLibrary
from benanza_runner.cuda.libraries.cudnn_legacy.recurrent import CudnnRecurrent
from benanza_runner.cuda.libraries.cudnn_legacy.reductions import CudnnReductions
from benanza_runner.cuda.libraries.cudnn_legacy.transposed import CudnnTransposed
from benanza_runner.cuda.libraries.cudnn_legacy.windows import CudnnWindows
from benanza_runner.cuda.libraries.nccl import Nccl


def all_candidate_sources(
    graph: CudnnGraph, legacy: CudnnLibrary, algorithms: int
) -> tuple[CandidateSource, ...]:
    """The adapters, in the order in which they are asked.

    cuBLASLt is asked for at most so many `algorithms` of a call.
    """
    products = CublasLt(algorithms)
    attentions = graph, AttentionKernels(), SplitAttention(), LatentAttention()
    return (
        graph,
        CudnnConvolution(legacy),
        CudnnTransposed(legacy),
        CudnnWindows(legacy),
        CudnnElementwise(legacy),
        CudnnReductions(legacy),
        CudnnRecurrent(legacy),
        products,
        CublasLtIntegers(algorithms),
        CublasLtWindows(algorithms),
        CublasLtPacked(algorithms),
        CublasLtQuantised(algorithms),
        RowProducts(),
        IntegerProducts(),
        EightBitsOnTensorCores(),
        FewRowsOfEightBits(),
        PackedProducts(),
        PackedOnTensorCores(),
        PackedInFragments(),
        PackedByWarpgroups(),
        PoolingKernels(),
        ChannelNormalisationKernels(),
        MovementKernels(),
        ScatteringKernels(),
        RankingKernels(),
        RegionKernels(),
        InPlaceViews(),
        TransposedKernels(),
        *attentions[1:],
        LinearAttentionKernels(),
        ProjectedAttentions(products, attentions),
        ExpertKernels(),
        Nccl(),
        OneShotCollectives(),
    )
