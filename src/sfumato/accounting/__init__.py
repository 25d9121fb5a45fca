"""What it costs: losses, their composition, the filters that admit them, and noise found from a promise."""

from sfumato.accounting.bounded import Approximate, DiscreteLaplaceLoss, Pure
from sfumato.accounting.calibrate import calibrate, classical_gaussian_sigma, gaussian_sigma, keeps
from sfumato.accounting.compose import Composed, compose
from sfumato.accounting.failing import Failing
from sfumato.accounting.filter import Currency, Filter, PureFilter, PureOdometer, Spent, ZcdpFilter
from sfumato.accounting.gaussian import DiscreteGaussianLoss, Gdp
from sfumato.accounting.group import Group
from sfumato.accounting.laws import Direction
from sfumato.accounting.loss import Loss
from sfumato.accounting.pair import Pair
from sfumato.accounting.range import BoundedRange
from sfumato.accounting.sampled import Subsampled
from sfumato.accounting.shifted import ShiftedLoss
from sfumato.accounting.truncated import TruncatedLaplaceLoss
from sfumato.accounting.zcdp import Zcdp

__all__ = [
    "Approximate",
    "BoundedRange",
    "Composed",
    "Currency",
    "Direction",
    "DiscreteGaussianLoss",
    "DiscreteLaplaceLoss",
    "Failing",
    "Filter",
    "Gdp",
    "Group",
    "Loss",
    "Pair",
    "Pure",
    "PureFilter",
    "PureOdometer",
    "ShiftedLoss",
    "Spent",
    "Subsampled",
    "TruncatedLaplaceLoss",
    "Zcdp",
    "ZcdpFilter",
    "calibrate",
    "classical_gaussian_sigma",
    "compose",
    "gaussian_sigma",
    "keeps",
]
