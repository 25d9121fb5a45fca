"""Scene 3. The product attacks itself on neighbouring tables, and then a copy with a planted bug."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.audit import least_epsilon
from sfumato.lessons.asked import Asked
from sfumato.lessons.demo.scene import Scene
from sfumato.lessons.lesson import Words
from sfumato.show.sheet import Paragraph, Table

if TYPE_CHECKING:
    from sfumato.lessons.demo.stage import Stage
    from sfumato.queries.schema import Schema

RUNS = 200_000
OWNED = 4
"""Rows of the person who is in one table and not in the other."""
SQL = "SELECT COUNT(*) AS visits FROM visits"
PROMISED = Fraction(1)
CONFIDENCE = "0.999999"

TITLE = Words("Check us", "Vérifiez-nous")


def schema(*, unit: str | None) -> Schema:
    """Visits, each of them somebody's; with the bug, nobody's: every row is taken for a person of its own."""
    from sfumato.queries.schema import Column, Schema, Table, Unit

    column = Column("nights", "integer", range=(Fraction(0), Fraction(60)))
    return Schema((Table("visits", (column,), unit=unit),), Unit("person" if unit else "row", max_rows=1))


def measured(unit: str | None) -> float:
    """The least epsilon that explains how well the answers tell whether somebody with four visits is in the table."""
    import numpy as np

    others = [f"p{place}" for place in range(50)]

    def drawn(people: list[str]) -> Any:
        table = {"person": people, "nights": [1] * len(people)}
        asked = Asked(SQL, schema(unit=unit), {"visits": table}, PROMISED)
        (mechanism,), (sensitivity,) = asked.preview.mechanisms, asked.bounded.sensitivities
        return mechanism.release(np.tile(asked.exact[0], RUNS), sensitivity).value

    return least_epsilon(drawn([*others, *["mallory"] * OWNED]), drawn(others), confidence=CONFIDENCE)


def act(stage: Stage) -> Scene:
    """Promised beside measured, first as shipped, then with the bug."""
    say, number = stage.terms.say, stage.terms.number
    shipped, planted = measured("person"), measured(None)

    def verdict(bound: float) -> str:
        if bound <= PROMISED:
            return say(en="PASS", fr="CONFORME")
        return say(en="CAUGHT", fr="PRIS")

    return Scene(
        stage.title(TITLE),
        (
            Paragraph(
                say(
                    en=f"`{SQL}` at ε = 1 was answered {number(RUNS)} times on each of two tables: with and without a "
                    f"person who owns {OWNED} rows. An event is learnt that tells them apart; how often it happens on "
                    "either side says what ε is at least.",
                    fr=f"`{SQL}` à ε = 1 a reçu {number(RUNS)} réponses sur chacune de deux tables : avec et sans une "
                    f"personne qui possède {OWNED} lignes. Un événement qui les distingue est appris ; sa fréquence "
                    "de chaque côté dit ce que ε vaut au moins.",
                )
            ),
            Table(
                (
                    say(en="product", fr="produit"),
                    say(en="ε promised", fr="ε promis"),
                    say(en="ε measured, at least", fr="ε mesuré, au moins"),
                    "",
                ),
                (
                    (say(en="as shipped", fr="tel que livré"), float(PROMISED), shipped, verdict(shipped)),
                    (
                        say(
                            en="planted bug: rows taken for persons",
                            fr="défaut posé : des lignes prises pour des personnes",
                        ),
                        float(PROMISED),
                        planted,
                        verdict(planted),
                    ),
                ),
                caption=say(
                    en="Each bound holds with a confidence of 99.9999 %",
                    fr="Chaque borne tient avec une confiance de 99,9999 %",
                ),
            ),
        ),
    )
