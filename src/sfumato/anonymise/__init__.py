"""k-anonymity and its family, with the risk said out loud. None of it is differential privacy.

`sfumato.anonymise` is this package and, because `sf.anonymise(frame, ...)` is how it is used, it can be called too.
"""

from __future__ import annotations

import sys
from inspect import signature
from types import ModuleType
from typing import final

from sfumato.anonymise.assess import Assessment, assess
from sfumato.anonymise.frontier import Frontier, frontier
from sfumato.anonymise.hierarchy import Dates, Hierarchy, Prefixes, Ranks, Steps, Tree, load, read_csv
from sfumato.anonymise.models import (
    AlphaK,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    KMap,
    Model,
    RecursiveDiversity,
    TCloseness,
)
from sfumato.anonymise.report import Report
from sfumato.anonymise.run import Anonymised, anonymise

__all__ = [
    "AlphaK",
    "Anonymised",
    "Assessment",
    "Dates",
    "DistinctDiversity",
    "EntropyDiversity",
    "Frontier",
    "Hierarchy",
    "KAnonymity",
    "KMap",
    "Model",
    "Prefixes",
    "Ranks",
    "RecursiveDiversity",
    "Report",
    "Steps",
    "TCloseness",
    "Tree",
    "anonymise",
    "assess",
    "frontier",
    "load",
    "read_csv",
]


@final
class _Callable(ModuleType):
    """Importing a package binds its name on the parent, over the function of that name; so the package is that
    function."""

    __call__ = staticmethod(anonymise)


__signature__ = signature(anonymise)
sys.modules[__name__].__class__ = _Callable
