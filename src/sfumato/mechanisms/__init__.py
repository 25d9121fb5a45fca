"""Mechanisms: a private value goes in, a noisy release comes out, and the object itself knows what that costs."""

from sfumato.mechanisms.base import Case, Mechanism, Release
from sfumato.mechanisms.choice.exponential import Exponential
from sfumato.mechanisms.choice.noisy_max import NoisyMax
from sfumato.mechanisms.choice.permute_and_flip import PermuteAndFlip
from sfumato.mechanisms.choice.top_k import TopK
from sfumato.mechanisms.histogram.gaussian import GaussianHistogram
from sfumato.mechanisms.histogram.laplace import LaplaceHistogram
from sfumato.mechanisms.histogram.sparse import SparseHistogram
from sfumato.mechanisms.keys.gaussian import GaussianKeys
from sfumato.mechanisms.keys.geometric import GeometricKeys
from sfumato.mechanisms.keys.laplace import LaplaceKeys
from sfumato.mechanisms.law import Law
from sfumato.mechanisms.local.duchi import Duchi
from sfumato.mechanisms.local.forced import ForcedResponse
from sfumato.mechanisms.local.hadamard import HadamardResponse
from sfumato.mechanisms.local.hashing import LocalHashing
from sfumato.mechanisms.local.hybrid import Hybrid
from sfumato.mechanisms.local.piecewise import Piecewise
from sfumato.mechanisms.local.randomized_response import RandomizedResponse
from sfumato.mechanisms.local.ranged import RangedResponse
from sfumato.mechanisms.local.unary import UnaryEncoding
from sfumato.mechanisms.number.bounded_noise import BoundedNoise
from sfumato.mechanisms.number.gaussian import Gaussian
from sfumato.mechanisms.number.laplace import Laplace
from sfumato.mechanisms.number.lattice_noise import LatticeNoise
from sfumato.mechanisms.number.online_bounded_noise import OnlineBoundedNoise
from sfumato.mechanisms.number.staircase import Staircase
from sfumato.mechanisms.number.truncated_laplace import TruncatedLaplace
from sfumato.mechanisms.pufferfish.laplace import PufferfishLaplace
from sfumato.mechanisms.quantile.histogram_method import HistogramMethod
from sfumato.mechanisms.quantile.independent import IndependentQuantiles
from sfumato.mechanisms.quantile.inverse_sensitivity import InverseSensitivity
from sfumato.mechanisms.quantile.joint_exponential import JointExponential
from sfumato.mechanisms.quantile.noisy_search import NoisySearch
from sfumato.mechanisms.quantile.recursive import RecursiveQuantiles
from sfumato.mechanisms.quantile.tree import TreeQuantiles
from sfumato.mechanisms.stream.above_threshold import AboveThreshold
from sfumato.mechanisms.stream.factored_count import FactoredCount
from sfumato.mechanisms.stream.running_count import RunningCount
from sfumato.mechanisms.stream.sparse_vector import SparseVector
from sfumato.mechanisms.synthetic.aim import Aim
from sfumato.mechanisms.synthetic.mst import Mst
from sfumato.mechanisms.weights.gaussian import GaussianWeights
from sfumato.mechanisms.weights.laplace import LaplaceWeights

ALL: tuple[type[Mechanism], ...] = (  # type: ignore[type-arg]
    Laplace,
    Gaussian,
    TruncatedLaplace,
    Staircase,
    BoundedNoise,
    OnlineBoundedNoise,
    LatticeNoise,
    LaplaceHistogram,
    GaussianHistogram,
    SparseHistogram,
    AboveThreshold,
    SparseVector,
    RunningCount,
    FactoredCount,
    Exponential,
    RandomizedResponse,
    PermuteAndFlip,
    NoisyMax,
    TopK,
    UnaryEncoding,
    ForcedResponse,
    RangedResponse,
    LocalHashing,
    HadamardResponse,
    Duchi,
    Piecewise,
    Hybrid,
    InverseSensitivity,
    IndependentQuantiles,
    JointExponential,
    RecursiveQuantiles,
    HistogramMethod,
    NoisySearch,
    TreeQuantiles,
    LaplaceKeys,
    GaussianKeys,
    GeometricKeys,
    LaplaceWeights,
    GaussianWeights,
    PufferfishLaplace,
    Mst,
    Aim,
)
"""Every mechanism: the contract suite, the audit and the documentation walk this list."""

__all__ = [
    "ALL",
    "AboveThreshold",
    "Aim",
    "BoundedNoise",
    "Case",
    "Duchi",
    "Exponential",
    "FactoredCount",
    "ForcedResponse",
    "Gaussian",
    "GaussianHistogram",
    "GaussianKeys",
    "GaussianWeights",
    "GeometricKeys",
    "HadamardResponse",
    "HistogramMethod",
    "Hybrid",
    "IndependentQuantiles",
    "InverseSensitivity",
    "JointExponential",
    "Laplace",
    "LaplaceHistogram",
    "LaplaceKeys",
    "LaplaceWeights",
    "LatticeNoise",
    "Law",
    "LocalHashing",
    "Mechanism",
    "Mst",
    "NoisyMax",
    "NoisySearch",
    "OnlineBoundedNoise",
    "PermuteAndFlip",
    "Piecewise",
    "PufferfishLaplace",
    "RandomizedResponse",
    "RangedResponse",
    "RecursiveQuantiles",
    "Release",
    "RunningCount",
    "SparseHistogram",
    "SparseVector",
    "Staircase",
    "TopK",
    "TreeQuantiles",
    "TruncatedLaplace",
    "UnaryEncoding",
]
