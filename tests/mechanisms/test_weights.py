"""Importance weights: how far one unit moves the fit, the certificate of the solver, weights and their errors, refusals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from sfumato.audit import verify
from sfumato.core import BadInput, Bug, Neighbours, NotSupported, Private, Relation, Sensitivity
from sfumato.mechanisms import GaussianWeights, LaplaceWeights
from sfumato.mechanisms.base import Mechanism
from sfumato.mechanisms.weights.column import Category, Columns, Numeric
from sfumato.mechanisms.weights.reference import Reference
from sfumato.mechanisms.weights.rows import Rows
from sfumato.mechanisms.weights.tilt import Objective, solve
from sfumato.mechanisms.weights.weighing import Weighing
from sfumato.mechanisms.weights.weighted import Weighted
from sfumato.noise import system_source

COLUMNS = Columns.of({"age": Numeric(0, 100, 64), "hours": Numeric(0, 80, 64), "sex": Category(("F", "M"))})
FEW: Reference = Reference.of({"x": Numeric(0, 1)}, {"x": [0.25, 0.75]})
AGES = Columns.of({"age": Numeric(0, 100, 64), "hours": Numeric(0, 80, 64)})


def some_codes(rng: np.random.Generator, columns: Columns, rows: int) -> Any:
    """Rows crowded around a corner or the middle, or spread evenly: neighbours of many shapes."""
    each = []
    for column in columns.columns:
        top = column.codes
        kind = rng.integers(4)
        codes = [
            rng.integers(0, top, rows),
            np.full(rows, rng.integers(0, top)),
            np.full(rows, 0),
            rng.choice([0, top - 1], rows),
        ]
        each.append(codes[kind])
    return np.stack(each, axis=1).astype(np.int64)


def some_reference(rng: np.random.Generator, columns: Columns) -> Reference:
    codes = some_codes(rng, columns, 40)
    codes[0], codes[1] = 0, [column.codes - 1 for column in columns.columns]
    return Reference(columns, codes)


@pytest.mark.parametrize("columns", [AGES, COLUMNS, Columns.of({"s": Category("abc")})])
@pytest.mark.parametrize("relation", [Relation.ADD_REMOVE, Relation.REPLACE])
def test_one_unit_moves_the_fit_by_no_more_than_is_said(columns: Columns, relation: Relation) -> None:
    """T9 of the table of regression tests: neighbours of up to three rows, public tables and penalties of many kinds."""
    rng = np.random.default_rng(7)
    closest = 0.0
    for trial in range(60):
        reference = some_reference(rng, columns)
        rows, own = int(rng.integers(0, 60)), int(rng.integers(1, 4))
        size, penalty = Fraction(max(rows, 5)), Fraction(rng.choice(["1/2", "1/50", "1/1000", "1/20000"]))
        crowd, unit, other = (some_codes(rng, columns, count) for count in (rows, own, own))
        left = Rows.of(np.concatenate([crowd, unit]))
        right = Rows.of(crowd if relation is Relation.ADD_REMOVE else np.concatenate([crowd, other]))
        fits = [
            solve(Objective.of(table, reference, size=size, penalty=penalty), Fraction(1, 10**10))
            for table in (left, right)
        ]
        bound = own * reference.farthest(relation) / (2 * penalty * size)
        moved = float(np.linalg.norm(fits[0] - fits[1]))
        assert moved <= float(bound) + 1e-10 / float(penalty), f"trial {trial}"
        closest = max(closest, moved / float(bound))
    assert closest > 0.3  # the neighbours are not all harmless


def test_replacing_a_row_of_numbers_moves_the_fit_by_at_most_the_papers_constant() -> None:
    """sqrt(d) / (2 penalty N) when the centre is not at a corner; 2 per category instead of one for each of its coordinates.

    Alone, a row reaches (|u| + sqrt(|u|^2 + 1/4)) / 2, written out here for the corners of the cube.
    """
    rng = np.random.default_rng(3)
    for _ in range(20):
        even = Reference(COLUMNS, np.stack([rng.integers(0, c.codes, 400) for c in COLUMNS.columns], axis=1))
        assert float(even.farthest(Relation.REPLACE)) == pytest.approx(2, rel=1e-12)
        corners = COLUMNS.coordinates(np.array(list(product((0, 64), (0, 64), (0, 1)))))
        longest = float(np.linalg.norm(corners - even.centre, axis=1).max())
        alone = (longest + math.hypot(longest, 0.5)) / 2
        assert float(even.farthest(Relation.ADD_REMOVE)) == pytest.approx(alone, rel=1e-9)
        assert 2 - 1e-9 <= some_reference(rng, AGES).farthest(Relation.REPLACE) ** 2 < 2.25


def test_the_part_of_a_minimum_moves_by_the_average_of_two_lengths() -> None:
    """The lemma of `farthest`: a symmetric matrix between 0 and 1 moves the first coordinates so far, and no further."""
    rng = np.random.default_rng(12)
    whole = np.array([1.0, 0.5])
    bound, best = (1 + float(np.linalg.norm(whole))) / 2, 0.0
    for _ in range(4000):
        turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
        matrix = turn @ np.diag(rng.choice([0.0, 1.0, rng.random()], 2)) @ turn.T
        best = max(best, abs(float((matrix @ whole)[0])))
    assert 0.999 * bound < best <= bound


def test_the_bound_is_nearly_reached() -> None:
    """On the audit's neighbours: 12 steps of 14, one of which is for flooring."""
    for mechanism in LaplaceWeights.examples():
        for case in mechanism.audit_cases():
            left, right = mechanism.fit(case.left), mechanism.fit(case.right)
            moved = sum(abs(a - b) for a, b in zip(left, right, strict=True))
            assert 0.75 * float(mechanism.steps(case.sensitivity).l1) <= moved <= mechanism.steps(case.sensitivity).l1


def test_half_the_price_is_found_out() -> None:
    """A copy that prices half of the steps: its exact law contradicts it, on the audit's own neighbours."""

    @dataclass(frozen=True)
    class HalfWeights(Mechanism[Any, Any]):
        real: LaplaceWeights

        def loss(self, sensitivity: Any) -> Any:
            return self.real.loss(Sensitivity.of(sensitivity).scaled("1/2"))

        def sample(self, value: Any, source: Any) -> Any:
            return self.real.sample(value, source)

        def within(self, confidence: Any) -> float:
            return self.real.within(confidence)

        def law(self, value: Any) -> Any:
            return self.real.law(value)

        def audit_cases(self) -> Any:
            return self.real.audit_cases()

        @classmethod
        def examples(cls) -> Any:
            return ()

    honest = LaplaceWeights.examples()[0]
    assert not any(finding.understated for finding in verify(honest))
    assert any(finding.understated for finding in verify(HalfWeights(honest)))


def true_gradient(objective: Objective, tilt: Any) -> list[arb]:
    ctx.prec = 200
    own = [[arb(x) for x in row] for row in objective.private.tolist()]
    other = [[arb(x) for x in row] for row in objective.public.tolist()]
    b = [arb(x) for x in tilt.tolist()]
    size = arb(objective.size.numerator) / objective.size.denominator
    ridge = arb(objective.penalty.numerator) / objective.penalty.denominator
    total = [2 * ridge * x for x in b]
    for row, weight in zip(own, objective.weights.tolist(), strict=True):
        share = arb(weight) / (1 + sum((x * y for x, y in zip(row, b, strict=True)), arb(0)).exp()) / size
        total = [t - share * x for t, x in zip(total, row, strict=True)]
    for row in other:
        share = 1 / (1 + (-sum((x * y for x, y in zip(row, b, strict=True)), arb(0))).exp()) / len(other)
        total = [t + share * x for t, x in zip(total, row, strict=True)]
    return total


def test_the_certificate_holds_in_two_hundred_bits() -> None:
    """Above the true gradient everywhere, by 1e-12 at most near the solution, where it matters."""
    rng = np.random.default_rng(11)
    for weigh in (1, 1 << 20):
        reference = some_reference(rng, COLUMNS)
        codes = some_codes(rng, COLUMNS, 700)
        objective = Objective.of(
            Rows.of(codes, rng.integers(1, weigh + 1, 700)),
            reference,
            size=Fraction(700 * weigh),
            penalty=Fraction(1, 1000),
        )
        solved = solve(objective, Fraction(1, 10**11))
        tiny = [rng.normal(size=COLUMNS.width + 1) * 1e-9 for _ in range(12)]  # here only the sums round
        for tilt in (solved, solved + 1e-12, solved + 0.1, np.full(COLUMNS.width + 1, 400.0), *tiny):
            norm = sum((g * g for g in true_gradient(objective, tilt)), arb(0)).sqrt()
            certified = objective.certified(tilt)
            assert norm <= arb(certified.numerator) / certified.denominator
            assert float(certified) <= float(norm.mid()) + 1e-12 * (1 + float(np.abs(tilt).sum()))


def test_a_tolerance_out_of_reach_is_a_crash_and_not_an_answer() -> None:
    rng = np.random.default_rng(1)
    reference = some_reference(rng, AGES)
    rows = Rows.of(some_codes(rng, AGES, 50))
    mechanism = LaplaceWeights(reference, 50, "1/100", Fraction(1, 1 << 200), 1, "1/64")
    with pytest.raises(Bug, match="tolerance"):
        mechanism.release(rows, 1)


def test_what_the_solver_leaves_open_is_paid_for() -> None:
    """A loose solver costs more, by tolerance / penalty in the sensitivity."""
    reference = some_reference(np.random.default_rng(1), AGES)
    tight = LaplaceWeights(reference, 1000, "1/100", "1e-9", 1, "1/65536")
    loose = replace(tight, tolerance="1e-3")
    extra = (loose.steps(1).linf - tight.steps(1).linf) * loose.step
    assert float(extra) == pytest.approx(0.1, rel=1e-3)


def test_the_fit_depends_on_rows_and_not_on_their_order() -> None:
    rng = np.random.default_rng(5)
    reference, codes = some_reference(rng, COLUMNS), some_codes(rng, COLUMNS, 200)
    mechanism = LaplaceWeights.calibrate(epsilon=1, reference=reference, size=200)
    shuffled = codes[rng.permutation(200)]
    assert mechanism.fit(Rows.of(codes)) == mechanism.fit(Rows.of(shuffled))
    assert mechanism.fit(Rows.of(np.concatenate([codes, codes]))) == mechanism.fit(Rows.of(codes, np.full(200, 2)))


def test_rows_are_distinct_in_order_and_counted() -> None:
    rng = np.random.default_rng(6)
    for rows in (0, 1, 2, 300):
        codes, counts = rng.integers(0, 3, (rows, 3)), rng.integers(0, 3, rows)
        expected: dict[tuple[int, ...], int] = {}
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
            expected[tuple(code)] = expected.get(tuple(code), 0) + count
        made = Rows.of(codes, counts)
        kept = sorted((code, count) for code, count in expected.items() if count)
        assert [tuple(code) for code in made.codes.tolist()] == [code for code, _ in kept]
        assert made.weights.tolist() == [count for _, count in kept]
        assert made.total == counts.sum()


def shifted(rng: np.random.Generator, rows: int, shift: float) -> dict[str, Any]:
    age = np.clip(rng.normal(45 + shift, 15, rows), 0, 100)
    return {"age": age, "hours": np.clip(rng.normal(35, 12, rows), 0, 80), "sex": rng.choice(["F", "M"], rows).tolist()}


def weigh(
    kind: Any, rng: np.random.Generator, *, rows: int, **promise: Any
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    private, public = shifted(rng, rows, 6.0), shifted(rng, 4000, 0.0)
    reference = Reference.of(COLUMNS, public)
    mechanism = kind.calibrate(reference=reference, size=rows, **promise)
    release = mechanism.release(Private(Rows.of(COLUMNS.code(private))), 1)
    return Weighted.of(mechanism, release.value), private, public


@pytest.mark.parametrize(("kind", "promise"), [(LaplaceWeights, {}), (GaussianWeights, {"delta": "1e-6"})])
def test_weighted_averages_estimate_private_ones(kind: Any, promise: dict[str, Any]) -> None:
    """Half of the way or more from the public mean to the private one, which lies 6 years off: over 40 errors away."""
    weighted, private, public = weigh(kind, np.random.default_rng(2), rows=20_000, epsilon=1, **promise)
    truth, before = private["age"].mean(), public["age"].mean()
    found = weighted.estimate(public["age"])
    assert abs(found.value - truth) < 0.5 * abs(before - truth)
    assert weighted.weights.mean() == pytest.approx(1)
    assert weighted.effective > 1000
    assert found.within("0.95") == pytest.approx(1.96 * found.error + abs(found.pull), rel=1e-3)
    nothing = weighted.estimate(np.ones(4000))
    assert nothing.value == pytest.approx(1)
    assert [nothing.noise, nothing.sampling, nothing.pull] == pytest.approx([0, 0, 0], abs=1e-9)


def test_the_penaltys_pull_is_foreseen_from_the_weights_alone() -> None:
    """Without noise: the mean under a penalty less the mean without one, within a quarter; towards the public mean."""
    rng = np.random.default_rng(3)
    private, public = shifted(rng, 20_000, 10.0), shifted(rng, 4000, 0.0)
    reference, rows = Reference.of(COLUMNS, public), Rows.of(COLUMNS.code(private))
    means = {}
    for penalty in ("1/128", "1/4194304"):
        mechanism = LaplaceWeights(reference, 20_000, penalty, "1e-8", 1, "1/65536")
        means[penalty] = Weighted.of(mechanism, mechanism.fit(rows)).estimate(public["age"])
    true_pull = means["1/128"].value - means["1/4194304"].value
    assert true_pull < -0.5
    assert means["1/128"].pull == pytest.approx(true_pull, rel=0.25)
    assert abs(means["1/4194304"].pull) < 0.01


@pytest.mark.parametrize("most", [None, "1.5"])
def test_the_error_of_the_noise_is_what_repeating_it_shows(most: str | None) -> None:
    """2000 draws of small noise: the standard deviation is within 10 % of the formula; its own error is 1.6 %: 1e-9."""
    rng = np.random.default_rng(4)
    weighted, _, public = weigh(LaplaceWeights, rng, rows=20_000, epsilon=20, penalty="1/64")
    mechanism, reference = weighted.mechanism, weighted.mechanism.reference
    rows = Rows.of(COLUMNS.code(shifted(rng, 20_000, 6.0)))
    draws = mechanism.repeat(rows, 2000, system_source())
    values = np.array([Weighted.of(mechanism, tilt, most=most).estimate(public["age"]).value for tilt in draws])
    expected = Weighted.of(mechanism, mechanism.fit(rows), most=most).estimate(public["age"]).noise
    assert values.std() == pytest.approx(expected, rel=0.1)
    assert reference.coordinates.shape == (4000, 4)


def test_the_publishers_door_prices_seals_stores_and_weighs() -> None:
    rng = np.random.default_rng(2)
    private, public = shifted(rng, 5000, 6.0), shifted(rng, 1000, 0.0)
    reference = Reference.of(COLUMNS, public)
    reach = Sensitivity.of_cells(2, 1, about=Neighbours.REPLACE)
    weighing = Weighing.priced(reference, size=5000, reach=reach, epsilon=1)
    assert weighing.loss.epsilon() == 1
    assert weighing.loss.about == Neighbours.REPLACE
    tilt = weighing.released(Private(Rows.of(COLUMNS.code(private))))
    assert all(isinstance(step, int) for step in tilt)
    again = weighing.weighted(list(tilt))
    assert again.weights.tolist() == weighing.weighted(tilt).weights.tolist()
    assert again.estimate(public["age"]).value > public["age"].mean()
    assert weighing.weighted(tilt, most=2).weights.max() < 2.1


def test_the_door_chooses_the_smaller_noise() -> None:
    wide = Columns.of({str(i): Numeric(0, 1, 64) for i in range(16)})
    reference = some_reference(np.random.default_rng(1), wide)
    few = some_reference(np.random.default_rng(1), AGES)
    kinds = [
        type(Weighing.priced(table, size=1000, epsilon=1, delta=delta).mechanism)
        for table, delta in ((reference, 0), (reference, "1e-6"), (few, "1e-6"))
    ]
    assert kinds == [LaplaceWeights, GaussianWeights, LaplaceWeights]


def test_too_few_effective_rows_are_refused() -> None:
    """Five public rows stand where all private ones do. The answer is paid for, the weights are not told."""
    reference = Reference.of(AGES, {"age": [0.0] * 195 + [100.0] * 5, "hours": np.linspace(0, 80, 200)})
    rows = Rows.of(np.tile([[64, 32]], (5000, 1)))
    mechanism = LaplaceWeights.calibrate(epsilon=10, reference=reference, size=5000, penalty="1/10000")
    weighted = Weighted.of(mechanism, mechanism.release(rows, 1).value)
    assert weighted.effective < 30
    with pytest.raises(NotSupported, match="effective rows"):
        _ = weighted.weights
    with pytest.raises(NotSupported, match="effective rows"):
        weighted.estimate(np.ones(200))


def test_tables_without_common_support_are_told_to_the_owner() -> None:
    reference = Reference.of(COLUMNS, {"age": [10, 20, 30], "hours": [10, 80, 0], "sex": ["F", "M", "F"]})
    with pytest.raises(BadInput, match="common support in 'age'"):
        reference.refuse_apart(Rows.of([[60, 32, 0], [10, 32, 0]]))
    reference.refuse_apart(Rows.of([[60, 32, 0], [10, 32, 0], [11, 3, 1]]))
    letters = Columns.of({"s": Category("abc")})
    with pytest.raises(BadInput, match="common support in 's'"):
        Reference(letters, np.array([[0], [1]])).refuse_apart(Rows.of([[2]]))


def test_identical_tables_get_equal_weights_and_the_owner_is_told() -> None:
    codes = some_codes(np.random.default_rng(9), AGES, 500)
    reference = Reference(AGES, np.concatenate([codes, [[0, 0], [64, 64]]]))
    rows = Rows.of(reference.codes)
    mechanism = LaplaceWeights.calibrate(epsilon=1, reference=reference, size=502)
    assert max(map(abs, mechanism.fit(rows))) * mechanism.step < Fraction(1, 100)
    with pytest.raises(BadInput, match="the private one"):
        reference.refuse_copy(rows)
    reference.refuse_copy(Rows.of(codes))


def test_calibration_keeps_its_promise_and_wastes_little() -> None:
    reference = some_reference(np.random.default_rng(1), COLUMNS)
    replace_one = Sensitivity.of_cells(2, 1, about=Neighbours.REPLACE)
    one_cell = Sensitivity.of(1, about=Neighbours.REPLACE)  # said of one cell, it is the same unit
    assert LaplaceWeights(reference, 1000, 1, "1e-6", 1).steps(one_cell) == LaplaceWeights(
        reference, 1000, 1, "1e-6", 1
    ).steps(replace_one)
    for reach in (Sensitivity.of(1), Sensitivity.of(3), replace_one):
        laplace = LaplaceWeights.calibrate(sensitivity=reach, epsilon="1/2", reference=reference, size=1000)
        assert laplace.loss(reach).epsilon() == 0.5
        assert laplace.loss(reach).about == reach.about
        gaussian = GaussianWeights.calibrate(
            sensitivity=reach, epsilon="1/2", delta="1e-6", reference=reference, size=1000
        )
        assert 0.499 < gaussian.loss(reach).epsilon("1e-6") <= 0.5
        moved = laplace.steps(reach)
        weight = reach.l1 / (2 if reach is replace_one else 1)
        ideal = weight * reference.farthest(reach.about.relation) / (2 * laplace.penalty * 1000) * 2 / laplace.step
        assert ideal < moved.l1 < ideal * Fraction("1.02")  # sqrt(4) = 2; flooring and tolerance cost 2 % at most


def test_gaussian_noise_needs_a_delta_and_is_smaller_in_several_columns() -> None:
    reference = some_reference(np.random.default_rng(1), Columns.of({str(i): Numeric(0, 1, 64) for i in range(12)}))
    with pytest.raises(BadInput, match="delta"):
        GaussianWeights.calibrate(epsilon=1, reference=reference, size=1000)
    laplace = LaplaceWeights.calibrate(epsilon=1, reference=reference, size=1000, penalty="1/50")
    gaussian = GaussianWeights.calibrate(epsilon=1, delta="1e-6", reference=reference, size=1000, penalty="1/50")
    assert float(gaussian.sigma) < math.sqrt(2) * float(laplace.scale)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Numeric(5, 5), "range is empty"),
        (lambda: Numeric(0, 1, 100), "power of two"),
        (lambda: Category(["a"]), "fewer than two"),
        (lambda: Columns.of({}), "no column"),
        (lambda: Reference.of({"x": Numeric(0, 1)}, {"x": [0.5]}), "fewer than two rows"),
        (lambda: Reference.of({"x": Numeric(0, 1)}, {"x": [0.5, 0.5, 0.5]}), "'x' is constant"),
        (lambda: Reference.of({"x": Numeric(0, 1)}, {"y": [0.5, 0.1]}), "no column 'x'"),
        (lambda: Reference.of({"x": Numeric(0, 1)}, {"x": [0.5, math.nan]}), "not finite"),
        (lambda: Reference.of({"x": Category("ab")}, {"x": ["a", "z"]}), "public list"),
        (lambda: Reference.of({"x": Numeric(0, 1)}, Private({"x": [0, 1]})), "private table"),
        (lambda: Rows.of([[0.5]]), "whole numbers"),
        (lambda: Rows.of([[1]], [-1]), "negative"),
        (lambda: LaplaceWeights.calibrate(epsilon=1), "no reference"),
        (lambda: LaplaceWeights.calibrate(epsilon=1, reference=FEW), "no size"),
        (lambda: LaplaceWeights.calibrate(epsilon=1, reference=FEW, size=-1), "size"),
        (lambda: LaplaceWeights.calibrate(epsilon=1, reference="table", size=10), "not a public table"),
        (lambda: LaplaceWeights.calibrate(sensitivity=0, epsilon=1, reference=FEW, size=10), "nothing to protect"),
        (lambda: LaplaceWeights.examples()[0].release(Rows.of([[0, 0]]), 1), "one column"),
        (lambda: LaplaceWeights.examples()[0].release(Rows.of([[99]]), 1), "outside of its column"),
        (lambda: LaplaceWeights.examples()[0].release([[1]], 1), "not coded rows"),  # type: ignore[arg-type]
        (
            lambda: LaplaceWeights.examples()[0].loss(Sensitivity.of(1, about=Neighbours(Relation.SECRETS))),
            "Pufferfish",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_hint(make: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words) as error:
        make()
    assert error.value.hint
