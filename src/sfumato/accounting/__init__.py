"""What it costs: losses, their composition, the filters that admit them, and noise found from a promise."""

from sfumato.accounting.bounded import Approximate, DiscreteLaplaceLoss, Pure
from sfumato.accounting.compose import compose, repeat
from sfumato.accounting.loss import Loss

__all__ = ["Approximate", "DiscreteLaplaceLoss", "Loss", "Pure", "compose", "repeat"]
