"""A promise in plain words: how often someone who guesses about one person can be right."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from sfumato.core.errors import Bug
from sfumato.core.exact import down

PRIORS = (Fraction(1, 2), Fraction(1, 100))
"""What is told: someone who knew nothing, and someone who thought it one chance in a hundred."""


def guess(epsilon: float, delta: float) -> float:
    """The largest probability of guessing one of two neighbours right, both as likely before, rounded up to 0.1 percent.

    Proof: let a be the probability of a right guess under one neighbour, b under the other. The promise for the event, and
    for its complement the other way round, says a <= e^epsilon (1 - b) + delta and b <= e^epsilon (1 - a) + delta; added up,
    (a + b) (1 + e^epsilon) <= 2 e^epsilon + 2 delta, and the guess is right with probability (a + b) / 2. Kairouz, Oh and
    Viswanath 2015: no smaller number holds of all mechanisms that keep the promise.
    """
    if math.isinf(epsilon):
        return 1.0
    # (e + d) / (1 + e) = (1 + d / e) / (1 + 1 / e), which does not overflow.
    less = math.exp(-min(epsilon, 700.0))
    return min(1.0, _up((1 + delta * less) / (1 + less)))


def belief(prior: Fraction, epsilon: float) -> float:
    """The most that a belief of `prior` can become, outside of the delta: odds grow by at most e^epsilon."""
    if not 0 < prior < 1:
        raise Bug("a belief was not between 0 and 1")
    if epsilon > 700:
        return 1.0
    odds = down(prior / (1 - prior)) * math.exp(epsilon)
    return min(1.0, _up(odds / (1 + odds)))


def _up(part: float) -> float:
    """To a thousandth, upward, with room for the rounding of what came before."""
    return math.ceil(part * (1 + 1e-12) * 1000) / 1000


def odds(epsilon: float, delta: float, *, unit: str, replace: bool) -> dict[str, str]:
    """In English and in French. Percentages are rounded up."""
    coin, rare = guess(epsilon, delta), belief(PRIORS[1], epsilon)
    fact = (
        (f"which of two records a {unit} has", f"lequel de deux enregistrements a {_UNE[unit]}")
        if replace
        else (f"whether a given {unit} is in the data", f"si {_UNE[unit]} donnée est dans les données")
    )
    if unit in _MASCULINE and not replace:
        fact = (fact[0], fact[1].replace("donnée est", "donné est"))
    failing = delta > 0
    rarely = f"{delta:.2g}".replace("e-0", "e-")
    tail = (f", except with probability {rarely}", f", sauf avec probabilité {rarely}") if failing else ("", "")
    return {
        "en": f"Someone who has to guess {fact[0]}, and who would be right half of the time, is right at most "
        f"{_percent(coin)} % of the time after reading this release, whatever else they know. A belief of 1 % becomes at "
        f"most {_percent(rare)} %{tail[0]}.",
        "fr": f"Qui doit deviner {fact[1]}, et aurait raison une fois sur deux, a raison au plus "
        f"{_percent(coin, 'fr')}\u202f% du temps après avoir lu cette publication, quoi qu’il sache par ailleurs. "
        f"Une conviction de 1\u202f% devient au plus {_percent(rare, 'fr')}\u202f%{tail[1].replace('.', ',')}.",
    }


_UNE = {"person": "une personne", "household": "un foyer", "device": "un appareil", "row": "une ligne"}
_MASCULINE = {"household", "device"}


def _percent(part: float, lang: str = "en") -> str:
    text = f"{100 * part:.1f}".removesuffix(".0")
    return text.replace(".", ",") if lang == "fr" else text


def told(epsilon: float, delta: float, *, unit: str, replace: bool) -> dict[str, Any]:
    """The odds as a certificate holds them."""
    return {
        "guess": f"{guess(epsilon, delta):.3f}",
        "belief_of_one_percent": f"{belief(PRIORS[1], epsilon):.3f}",
        **odds(epsilon, delta, unit=unit, replace=replace),
    }
