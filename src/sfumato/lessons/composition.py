"""What several releases cost together: in sequence, in parallel, under replace; added up, under zCDP, exactly. Note 004."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from sfumato.lessons.asked import Asked
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series
from sfumato.show.sheet import Cell, Formula, Table

if TYPE_CHECKING:
    from sfumato.accounting import Loss
    from sfumato.core.neighbours import Relation
    from sfumato.core.sensitivity import Sensitivity

DELTA = Fraction(1, 100_000)
MANY = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
MONTHS = ("january", "february")
TEAMS = ("paper", "ink")
BY_MONTH = "SELECT month, COUNT(*) AS people FROM staff GROUP BY month"
BY_TEAM = "SELECT team, COUNT(*) AS people FROM staff GROUP BY team"
YOUNG, OLD, EACH = 30, 60, 50


@final
@dataclass(frozen=True, slots=True)
class Staff:
    """A firm whose rows say who worked in which team in which month; a person has one row a month."""

    relation: Relation
    months: int

    def asked(self, sql: str) -> Asked:
        """A question, with so many rows per person."""
        from sfumato.queries.schema import Column, Schema, Table, Unit

        columns = (Column("month", "category", values=MONTHS), Column("team", "category", values=TEAMS))
        table = Table("staff", columns, unit="person")
        schema = Schema((table,), Unit("person", self.relation, max_rows=self.months))
        rows = [(f"p{place}", month, TEAMS[place % 2]) for month in MONTHS[: self.months] for place in range(100)]
        person, month, team = zip(*rows, strict=True)
        return Asked(sql, schema, {"staff": {"person": person, "month": month, "team": team}}, 1)

    def reach(self, sql: str) -> Sensitivity:
        """How far one person moves both counts together, as the product states it."""
        bounded = self.asked(sql).bounded
        return bounded.sensitivity.scaled(Fraction(1, bounded.whole))


def cost(reach: Sensitivity, epsilon: Fraction) -> float:
    """What both counts cost together, each with the noise of one count: scale 1/epsilon."""
    from sfumato.mechanisms import Laplace

    return Laplace(scale=1 / epsilon).loss(reach).epsilon(0)


def one_release(epsilon: Fraction) -> Loss:
    """A count with Laplace noise."""
    from sfumato.mechanisms import Laplace

    return Laplace.calibrate(epsilon=epsilon).loss(1)


def totals(epsilon: Fraction, times: int) -> tuple[float, float, float]:
    """The epsilon of so many releases: added up (delta 0), by zCDP, and composed exactly (both at DELTA)."""
    from sfumato.accounting import Zcdp

    one = one_release(epsilon)
    together = one * times if times > 1 else one
    line = together.zcdp()
    assert line is not None
    return together.epsilon(0), Zcdp(*line).epsilon(DELTA), together.epsilon(DELTA)


def halves(ages: Sequence[int]) -> tuple[int, int]:
    """How many people are up to the (lower) median age of these very people, and how many above: a partition by the data."""
    median = sorted(ages)[(len(ages) - 1) // 2]
    below = sum(age <= median for age in ages)
    return below, len(ages) - below


def moved_by_median() -> int:
    """By how much both halves together move when one person of 60 joins 50 of 30 and 50 of 60."""
    ages = [YOUNG] * EACH + [OLD] * EACH
    before, after = halves(ages), halves([*ages, OLD])
    return sum(abs(a - b) for a, b in zip(before, after, strict=True))


def tell(terms: Terms) -> Told:
    """Curves of the total price, and two counts on teams, on months, and on halves that the data draw."""
    from sfumato.core.neighbours import Relation

    say, number = terms.say, terms.number
    found: dict[Fraction, dict[int, tuple[float, float, float]]] = {}

    def draw(epsilon: Fraction) -> Picture:
        curves = {times: totals(epsilon, times) for times in MANY}
        found[epsilon] = curves
        price, last = number(epsilon), curves[MANY[-1]]
        names = (
            say(en="added up", fr="en additionnant"),
            say(en="zCDP, δ = 10⁻⁵", fr="zCDP, δ = 10⁻⁵"),
            say(en="exact, δ = 10⁻⁵", fr="exact, δ = 10⁻⁵"),
        )
        return Picture(
            title=say(en=f"The price of k counts at ε = {price} each", fr=f"Le prix de k comptes à ε = {price} chacun"),
            told=say(
                en=f"{number(MANY[-1])} releases cost {number(last[0])} added up, {number(last[1])} by zCDP and "
                f"{number(last[2])} composed exactly; for few releases adding up is the cheaper promise.",
                fr=f"{number(MANY[-1])} publications coûtent {number(last[0])} en additionnant, {number(last[1])} par "
                f"zCDP et {number(last[2])} en composition exacte ; pour peu de publications, additionner est moins "
                "cher que zCDP.",
            ),
            x=Axis(say(en="number of releases k", fr="nombre de publications k"), scale="log", domain=(0.9, 1200)),
            y=Axis(say(en="ε of all together", fr="ε de l'ensemble"), scale="log", domain=frame),
            series=tuple(
                Series(name, tuple(Point(times, curve[place]) for times, curve in curves.items()), "line", exact=True)
                for place, name in enumerate(names)
            ),
        )

    prices = ("0.01", "0.1", "1")
    known = [terms.epsilon, *map(Fraction, prices)]
    frame = (float(min(known)) / 2, float(max(known)) * 2000)
    chart = terms.slides(draw, at=prices)
    epsilon, price = terms.epsilon, number(terms.epsilon)
    shown = ((BY_TEAM, 1), (BY_MONTH, 2))
    rows: list[tuple[Cell, ...]] = []
    costs: dict[tuple[str, Relation], float] = {}
    names = (
        say(en="two teams, one of them each", fr="deux équipes, chacun dans une seule"),
        say(en="two months, everybody in both", fr="deux mois, chacun dans les deux"),
    )
    for name, (sql, months) in zip(names, shown, strict=True):
        cells: list[Cell] = [name]
        for relation in (Relation.ADD_REMOVE, Relation.REPLACE):
            reach = Staff(relation, months).reach(sql)
            costs[sql, relation] = cost(reach, epsilon)
            cells += [int(reach.l1), costs[sql, relation]]
        rows.append(tuple(cells))
    moved = moved_by_median()
    broken = float(moved * epsilon)
    rows.append(
        (say(en="the two halves at the median age", fr="les deux moitiés à l'âge médian"), moved, broken, None, None)
    )
    ten = found[epsilon][10]
    last = found[epsilon][MANY[-1]]
    return Told(
        says=(
            say(
                en="Two mechanisms run one after the other, with ε₁ and ε₂: on disjoint sets (parallel composition) "
                "both together cost max(ε₁, ε₂), on others (sequential composition) ε₁ + ε₂.",
                fr="Deux mécanismes sont exécutés, à ε₁ et ε₂ : sur des ensembles disjoints (composition parallèle), "
                "ils coûtent ensemble max(ε₁, ε₂) ; sinon (composition séquentielle), ε₁ + ε₂.",
            ),
        ),
        formulas=(
            Formula(
                r"\varepsilon_{1,2} = \varepsilon_1 + \varepsilon_2, \qquad "
                r"D = A \sqcup B \Rightarrow \varepsilon_{1,2} = \max(\varepsilon_1, \varepsilon_2)",
                "ε_{1,2} = ε_1 + ε_2;   D = A ⊔ B ⇒ ε_{1,2} = max(ε_1, ε_2)"
                if terms.lang == "en"
                else "ε_{1,2} = ε_1 + ε_2 ;   D = A ⊔ B ⇒ ε_{1,2} = max(ε_1, ε_2)",
            ),
            Formula(
                r"\rho = \sum_i \rho_i, \qquad \varepsilon(\delta) \leq \rho + 2 \sqrt{\rho \ln(1/\delta)}",
                "ρ = Σ_i ρ_i,   ε(δ) ≤ ρ + 2 √(ρ ln(1/δ))",
            ),
        ),
        found=(
            say(
                en="Two counts, each with Laplace noise of scale 1/ε. On two teams of which everybody is in one, one "
                f"person moves one count: together ε = {number(costs[BY_TEAM, Relation.ADD_REMOVE])}, in parallel. On "
                "January and February everybody moves both: "
                f"{number(costs[BY_MONTH, Relation.ADD_REMOVE])}. Two months are not disjoint: the rows are, the "
                "people are not.",
                fr="Deux comptes, chacun avec un bruit de Laplace d'échelle 1/ε. Sur deux équipes où chacun n'est que "
                "dans une, une personne déplace un seul compte : ensemble, ε = "
                f"{number(costs[BY_TEAM, Relation.ADD_REMOVE])}, en parallèle. Sur janvier et février, chacun déplace "
                f"les deux : {number(costs[BY_MONTH, Relation.ADD_REMOVE])}. Deux mois ne sont pas disjoints : les "
                "lignes le sont, les personnes non.",
            ),
            say(
                en="When a person may be replaced by another, the old one may leave one team and the new one join the "
                f"other: both counts move, and parallel composition costs "
                f"{number(costs[BY_TEAM, Relation.REPLACE])}, the double. The product reads all of this off the "
                "question and the policy (`max_rows`, the relation).",
                fr="Quand une personne peut être remplacée par une autre, l'ancienne peut quitter une équipe et la "
                "nouvelle rejoindre l'autre : les deux comptes bougent, et la composition parallèle coûte "
                f"{number(costs[BY_TEAM, Relation.REPLACE])}, le double. Le produit lit tout cela dans la requête et "
                "dans la politique (`max_rows`, la relation).",
            ),
            say(
                en=f"In sequence, adding up is what the worst output allows; for a δ of 10⁻⁵ less is true. Ten counts "
                f"at ε = {price} cost {number(ten[0])} added up, {number(ten[1])} by zCDP, {number(ten[2])} composed "
                f"exactly (the product composes the laws of the losses); {number(MANY[-1])} of them {number(last[0])}, "
                f"{number(last[1])} and {number(last[2])}.",
                fr="En séquence, additionner est ce que permet la pire sortie ; pour un δ de 10⁻⁵, moins suffit. Dix "
                f"comptes à ε = {price} coûtent {number(ten[0])} en additionnant, {number(ten[1])} par zCDP, "
                f"{number(ten[2])} en composition exacte (le produit compose les lois des pertes) ; "
                f"{number(MANY[-1])} comptes, {number(last[0])}, {number(last[1])} et {number(last[2])}.",
            ),
        ),
        chart=chart,
        table=Table(
            (
                say(en="two counts", fr="deux comptes"),
                say(en="add/remove: moved", fr="ajout/retrait : écart"),
                "ε",
                say(en="replace: moved", fr="remplacement : écart"),
                "ε",
            ),
            tuple(rows),
            caption=say(
                en=f"Both counts with noise of scale 1/ε, ε = {price}: L1 sensitivity, and what they cost together",
                fr=f"Les deux comptes avec un bruit d'échelle 1/ε, ε = {price} : sensibilité en norme 1 et prix des "
                "deux",
            ),
        ),
        question=say(
            en="A hospital publishes one count for each of its 200 wards, at ε = 0.5 each. A patient may pass through "
            "three wards. What does that cost one patient?",
            fr="Un hôpital publie un compte pour chacun de ses 200 services, à ε = 0,5 chacun. Un patient peut passer "
            "par trois services. Que cela coûte-t-il à un patient ?",
        ),
        answer=(
            say(
                en="1.5: three of the counts depend on the patient, the other 197 do not. It is 0.5 if everybody is in "
                "one ward only, and never 100, as long as the policy says how many wards a patient may pass through.",
                fr="1,5 : trois des comptes dépendent du patient, les 197 autres non. C'est 0,5 si chacun n'est que "
                "dans un service, et jamais 100, pourvu que la politique dise par combien de services un patient peut "
                "passer.",
            ),
        ),
        remark=(
            say(
                en="“Operating on disjoint sets” hides two conditions. The partition must not depend on the data. Let "
                f"{EACH} people be {YOUNG} and {EACH} be {OLD}, cut them at their median age, and count both halves: "
                f"when one more person of {OLD} comes, the median jumps from {YOUNG} to {OLD}, and the two counts move "
                f"by {moved} in all. Noise for ε = {price} then lets {number(broken)} through.",
                fr="« Opèrent sur des ensembles disjoints » cache deux conditions. La partition ne doit pas dépendre "
                f"des données. Soient {EACH} personnes de {YOUNG} ans et {EACH} de {OLD} ans, coupées à leur âge "
                f"médian, et comptons les deux moitiés : quand arrive une personne de {OLD} ans, la médiane saute de "
                f"{YOUNG} à {OLD} ans, et les deux comptes bougent de {moved} en tout. Un bruit prévu pour ε = "
                f"{price} laisse alors passer {number(broken)}.",
            ),
            say(
                en="And neighbours must add or remove a person. Under replace the rule is 2 max(ε₁, ε₂), as the table "
                "shows. With these two conditions the theorem is right.",
                fr="Et les voisines doivent ajouter ou retirer une personne. Quand on remplace, la règle devient "
                "2 max(ε₁, ε₂), comme le montre le tableau. À ces deux conditions, le théorème est juste.",
            ),
        ),
    )


LESSON = Lesson(
    name="composition",
    note="004",
    section=Words("Compositions of ε-DP mechanisms", "Compositions de mécanismes ε-DP"),
    title=Words("What several releases cost", "Ce que coûtent plusieurs publications"),
    minutes=30,
    tell=tell,
    needs=("sensibilite", "moyennage"),
    epsilon="0.1",
)
