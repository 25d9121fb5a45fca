"""Private keys: by which mechanism groups are told, what of delta that costs, and their release group by group."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, assert_never

from sfumato.accounting import Approximate, Filter, Loss, PureFilter, ZcdpFilter
from sfumato.core.errors import BadInput, Bug, NotSupported
from sfumato.core.exact import Number, decimal_text, down, positive
from sfumato.mechanisms import Gaussian, GaussianKeys, GeometricKeys, LaplaceKeys, Mechanism
from sfumato.mechanisms.keys.held import upward

if TYPE_CHECKING:
    from sfumato.core.private import Private
    from sfumato.core.sensitivity import Sensitivity
    from sfumato.curator.preview import Preview
    from sfumato.queries.groups import Groups

Keys = LaplaceKeys | GaussianKeys | GeometricKeys


def share_of_delta(asked: Number | None, *, epsilon: Fraction, budget: Filter) -> Fraction:
    """What a question with private keys may fail with: as much of the budget's delta as it takes of the budget itself."""
    most = budget.total.failure
    if most == 0:
        raise NotSupported(
            "private keys are paid for with delta, and this budget has none",
            hint="the owner can declare a delta such as 1e-6 in the policy",
            code="SF005",
        )
    if asked is not None:
        wanted = positive(asked, name="delta")
        if wanted > most:
            raise BadInput(
                f"a delta of {decimal_text(wanted)} is more than the whole budget's {decimal_text(most, rounding='down')}:"
                " with that probability groups of one person may be shown",
                hint="leave --delta out: the question then has its share of the budget's",
                code="SF007",
            )
        return wanted
    match budget:
        case PureFilter():
            part = epsilon / budget.epsilon
        case ZcdpFilter():
            part = ZcdpFilter(epsilon, budget.delta, budget.conversion).rho_max / budget.rho_max
        case Filter():
            raise Bug("a budget of an unknown kind was opened")
        case _:
            assert_never(budget)
    return Fraction(decimal_text(most * min(part, Fraction(1)), rounding="down"))


def choose_keys(
    sensitivity: Sensitivity,
    plain: Mechanism[Any, Any],
    *,
    told: bool,
    share: Fraction,
    delta: Fraction,
    budget: Filter,
) -> Keys:
    """The mechanism with the lowest threshold at this price; one that gives numbers too, where they are `told`.

    `plain` is the noise that the numbers would have for the same part of the price.
    """
    match budget:
        case PureFilter():
            kinds: list[type[LaplaceKeys | GaussianKeys | GeometricKeys]] = [LaplaceKeys, GaussianKeys]
            every: Sequence[Keys] = [
                kind.calibrate(sensitivity=sensitivity, epsilon=share, delta=delta)
                for kind in (kinds if told else [GeometricKeys, *kinds])
            ]
            return min(every, key=lambda each: each.threshold)
        case ZcdpFilter():
            if not isinstance(plain, Gaussian):
                raise Bug("a zcdp budget was given noise that is not Gaussian")
            return GaussianKeys.within_mass(sensitivity, plain.sigma, delta)
        case Filter():
            raise Bug("a budget of an unknown kind was opened")
        case _:
            assert_never(budget)


def stated(loss: Loss, *, share: Fraction, budget: Filter) -> Loss:
    """A loss in a form that the budget can hold: where it has no largest ratio, its delta at the price that was agreed."""
    if not isinstance(budget, PureFilter) or loss.pure() is not None:
        return loss
    return Approximate(share, upward(Fraction(loss.delta(down(share)))), loss.about)


def released(preview: Preview, exact: Private[Groups]) -> dict[str, Any]:
    """The groups that pass, by name, and the noisy integers of these. What did not pass is not looked at again."""
    statistics = preview.bounded.tally.statistics
    first, *others = zip(preview.mechanisms, preview.bounded.sensitivities, strict=True)
    kept = first[0].release(exact.map(lambda groups: groups.held()), first[1]).value
    names = [each if isinstance(each, str) else each[0] for each in kept]
    counts = [each[1] for each in kept if not isinstance(each, str)] if preview.told else []
    vectors = [counts]
    for place, (mechanism, sensitivity) in enumerate(others, start=1):
        part = exact.map(lambda groups, place=place: groups.vector(statistics, place, names))  # type: ignore[misc]
        vectors.append(mechanism.release(part, sensitivity).value.tolist() if names else [])
    return {"keys": names, "vectors": vectors}
