"""A mixture of normal laws fitted by expectation maximisation, on public data only."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.core.errors import BadInput, NotAllowed, NotSupported
from sfumato.mechanisms.pufferfish.belief import Mixture

_MOST = 6
_SHARES = 1 << 40


def fit_mixture(public: Any, *, components: int | None = None) -> Mixture:
    """The mixture of `components` normal laws that scikit-learn finds on these public numbers; without a number, the one of
    up to six with the least BIC.

    A belief sets the scale of the noise, and the scale is told. Fitted on the private rows it would be a statistic of them,
    released with no noise at all, and the promise would be about a belief that the data chose. So anything that comes from
    a data set is refused; copy numbers out of a release, or use another survey.
    """
    if type(public).__module__.split(".")[0] == "sfumato":
        raise NotAllowed(
            "a belief was to be fitted on private data: the noise is calibrated on it, so it would be told unprotected",
            hint="fit it on public numbers (another survey, an earlier release), or name a family of beliefs",
        )
    values = np.asarray(public, dtype=np.float64) if isinstance(public, list | tuple | np.ndarray) else None
    if values is None or values.ndim != 1 or not np.isfinite(values).all():
        raise BadInput("public numbers are not a list of finite numbers", hint="give a list or an array of numbers")
    if components is not None and (isinstance(components, bool) or not isinstance(components, int) or components < 1):
        raise BadInput("a number of components is not 1 or more", hint="give 1, 2, 3, or leave it to the BIC")
    wanted = range(1, _MOST + 1) if components is None else (components,)
    if np.unique(values).size < (2 if components is None else max(2, components)):
        raise BadInput("there are fewer different public numbers than components", hint="give more numbers")
    models = [_fitted(values, count) for count in wanted if np.unique(values).size >= count]
    best = min(models, key=lambda model: float(model.bic(values[:, None])))
    chances = [int(share * _SHARES) for share in best.weights_.tolist()]
    chances[int(np.argmax(chances))] += _SHARES - sum(chances)
    deviations = np.sqrt(best.covariances_.ravel()).tolist()
    parts = [
        (Fraction(chance, _SHARES), Fraction(mean), Fraction(deviation))
        for chance, mean, deviation in zip(chances, best.means_.ravel().tolist(), deviations, strict=True)
        if chance > 0
    ]
    return Mixture.of(sorted(parts, key=lambda part: part[1]))


def _fitted(values: Any, components: int) -> Any:
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.mixture import GaussianMixture
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise NotSupported(
            "fitting a mixture needs scikit-learn, which is not installed", hint="pip install 'sfumato[mixtures]'"
        ) from None
    # One thread: these are small problems, and threads that wait for one another took most of the time.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        # A fixed state: the fit is a public function of public numbers.
        return GaussianMixture(components, n_init=3, random_state=0, reg_covar=1e-6 * float(values.var())).fit(
            values[:, None]
        )
