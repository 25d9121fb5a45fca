"""The figures that lessons rest on: known values, and bounds that hold with a stated false-alarm rate."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sfumato.accounting import Gdp, classical_gaussian_sigma
from sfumato.lessons import bruit, mallory, seuil, theorems
from sfumato.lessons.asked import Asked
from sfumato.lessons.lesson import Terms
from sfumato.lessons.toy import ToySource
from sfumato.noise import DiscreteLaplace, system_source


def months() -> tuple[Asked, Asked]:
    return (
        mallory.month(mallory.JANUARY, Fraction(1)),
        mallory.month([*mallory.JANUARY, mallory.MALLORY], Fraction(1)),
    )


def test_exact_answers_give_mallory_away() -> None:
    january, february = (asked.true() for asked in months())
    assert mallory.plainly(january) == (100, 55_000)
    assert mallory.plainly(february) == (101, 56_000)
    assert mallory.deduced(january, february) == 156_000


@pytest.mark.slow
def test_private_answers_do_not() -> None:
    """The subtraction errs by the difference of two Laplace noises of scale 200 000: within a tenth of the salary with
    probability 0.039. Of 1000, more than 110 has probability below 1e-19 (Chernoff), and the false-alarm rate is that."""
    found = mallory.attack(*months(), Terms())
    near = sum(abs(each - mallory.MALLORY) <= mallory.MALLORY / 10 for each in found)
    assert near <= 110
    assert max(found) - min(found) > 1_000_000


def test_the_missing_root_of_two() -> None:
    """MECHANISMS: at (0.5, 1e-5) the note's noise keeps delta 1.46e-5 and epsilon 0.514 only."""
    sigma = classical_gaussian_sigma(1, epsilon="0.5", delta="1e-5")
    actual = Gdp(Fraction(2**0.5 / float(sigma)))
    assert actual.delta(0.5) == pytest.approx(1.46e-5, rel=0.01)
    assert actual.epsilon("1e-5") == pytest.approx(0.514, abs=0.001)


def test_the_notes_gauss_is_too_narrow() -> None:
    """The standard deviation of 20 000 Gaussian draws is within 5 % of its law's: it fails with probability below 1e-20."""
    drawn = bruit.note_gauss(bruit.DRAWS, 1.0, system_source())
    assert float(drawn.std()) == pytest.approx(0.5**0.5, rel=0.05)


def test_floats_tell_and_the_lattice_does_not() -> None:
    """About 80 % of float outputs tell (MECHANISMS 10.4): 78 to 82 % of 20 000 fails with probability below 1e-11."""
    assert bruit.unreachable(bruit.DRAWS, system_source()) == pytest.approx(0.80, abs=0.02)
    assert bruit.on_lattice(1000, system_source()) == 0


def test_above_threshold_keeps_its_margin() -> None:
    """At a margin of 95 %, more than 60 false alarms in 400 runs has probability below 1e-12."""
    margin = seuil.product(Fraction(1, 2)).within("0.95", queries=100)
    alarms, _, _ = seuil.false_alarms(seuil.product(Fraction(1, 2)), margin, 100, system_source(), 400)
    assert alarms <= 60 / 400


def test_the_printed_bound_has_no_value_where_nothing_is_above() -> None:
    (statement,) = [each for each in theorems.STATEMENTS if each.place == "Lemma 2.2.1.1"]
    for output in (0, -1):
        with pytest.raises(ValueError, match="logarithm"):
            statement.printed(output=output, epsilon=1, confidence="0.95")
    assert statement.corrected(queries=10, epsilon=1, confidence="0.95") == pytest.approx(47.93, abs=0.01)


def test_a_toy_source_draws_the_law() -> None:
    """The mean square of 100 000 discrete Laplace draws of scale 10 is within 5 % of 199.8 (standard error 0.7 %)."""
    source, law = ToySource(5), DiscreteLaplace(Fraction(10))
    drawn = law.sample(source, 100_000)
    assert float((drawn * drawn).mean()) == pytest.approx(law.mean_square, rel=0.05)
    singles = [source.one(law) for _ in range(5000)]
    assert ToySource(5).one(law) == ToySource(5).one(law)
    assert len(set(singles)) > 20
