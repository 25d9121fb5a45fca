"""The best price for pumpkins: where noise on the answer is worthless, and a choice among public prices is not. Note 004."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from sfumato.lessons.frequency import mean
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series
from sfumato.show.sheet import Around, Cell, Formula, Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.noise import Source

OFFERS = (100, 100, 100, 301)
"""What A, F, I and K offer, in cents."""
MOST = 400
"""The highest price that is on the list, 4 $: public, and so are all prices below it, cent by cent."""
PRINTED: tuple[tuple[int, int], ...] = ((100, 300), (300, 300), (301, 301), (302, 0))
"""Price and revenue as the note prints them."""
DRAWS = 2000
TIMES = (1, 10, 100, 1000)


@final
@dataclass(frozen=True)
class Market:
    """The four buyers, `copies` times over."""

    copies: int = 1

    @cached_property
    def revenue(self) -> NDArray[np.int64]:
        """What each public price from 1 cent to 4 $ brings in: the price, times everybody who offers as much."""
        import numpy as np

        prices = np.arange(1, MOST + 1)
        buyers = sum((np.asarray(offer) >= prices).astype(np.int64) for offer in OFFERS)
        return self.copies * prices * buyers

    @property
    def best(self) -> int:
        """The best price."""
        return int(self.revenue.argmax()) + 1

    def earned(self, prices: Any) -> NDArray[np.float64]:
        """The part of the best revenue that each of these prices brings in; none outside of the list."""
        import numpy as np

        asked = np.asarray(prices)
        inside = (asked >= 1) & (asked <= MOST)
        found = np.where(inside, self.revenue[np.clip(asked, 1, MOST) - 1], 0)
        return np.asarray(found / int(self.revenue.max()), dtype=np.float64)


def chosen(market: Market, epsilon: Fraction, source: Source, draws: int = DRAWS) -> Any:
    """Prices by the product's choice: a buyer who comes adds at most the price itself, 4 $, and never takes away."""
    import numpy as np

    from sfumato.mechanisms import PermuteAndFlip

    mechanism = PermuteAndFlip.calibrate(candidates=MOST, sensitivity=MOST, epsilon=epsilon, monotone=True)
    return np.asarray(mechanism.repeat(market.revenue, draws, source)) + 1


def blurred(market: Market, epsilon: Fraction, source: Source) -> Any:
    """The best price with noise: another buyer may move it from 1 cent to 4 $."""
    import numpy as np

    from sfumato.mechanisms import Laplace

    mechanism = Laplace.calibrate(sensitivity=MOST - 1, epsilon=epsilon)
    return mechanism.release(np.full(DRAWS, market.best), MOST - 1, source=source).value


def density(prices: Any, scale: int) -> tuple[Point, ...]:
    """The share of chosen prices in bins of 25 cents, as a part of `scale`."""
    from sfumato.lessons.frequency import shares

    return tuple(
        Point(float(point.x) / 100, point.y * scale, (point.low or 0) * scale, (point.high or 0) * scale)
        for point in shares(prices, [0.5 + 25 * step for step in range(MOST // 25 + 1)])
    )


def tell(terms: Terms) -> Told:
    """The revenue curve, what is printed of it, and two ways to choose a price privately."""
    say, number, percent = terms.say, terms.number, terms.percent
    one = Market()
    best = int(one.revenue.max())

    def draw(epsilon: Fraction) -> Picture:
        price = number(epsilon)
        prices = chosen(Market(10), epsilon, terms.source)
        drawn = density(prices, 4)
        peak = max(drawn, key=lambda point: point.y)
        return Picture(
            title=say(
                en=f"Revenue of four buyers, and the price chosen for 40, ε = {price}",
                fr=f"Recette de quatre acheteurs, et prix choisi pour 40, ε = {price}",
            ),
            told=say(
                en=f"The revenue climbs to {number(best / 100)} $ at 1 $, falls to a quarter just above, climbs to "
                "3.01 $ at 3.01 $ and falls to nothing. Prices chosen for forty such buyers fall mostly near "
                f"{number(float(peak.x))} $.",
                fr=f"La recette monte jusqu'à {number(best / 100)} $ au prix de 1 $, tombe au quart juste au-dessus, "
                "remonte à 3,01 $ au prix de 3,01 $ et tombe à rien. Les prix choisis pour quarante acheteurs "
                f"semblables tombent surtout près de {number(float(peak.x))} $.",
            ),
            x=Axis(say(en="price ($)", fr="prix ($)"), domain=(0, MOST / 100)),
            y=Axis(
                say(en="revenue ($), or 4 × share of draws", fr="recette ($), ou 4 × part des tirages"), domain=(0, 4.2)
            ),
            series=(
                Series(
                    say(en="revenue", fr="recette"),
                    tuple(Point(cents / 100, money / 100) for cents, money in enumerate(one.revenue.tolist(), 1)),
                    "line",
                    exact=True,
                ),
                Series(
                    say(en="private choice, 40 buyers", fr="choix privé, 40 acheteurs"),
                    drawn,
                    "steps",
                ),
                Series(
                    say(en="as the note prints it", fr="telle que la note l'imprime"),
                    tuple(Point(cents / 100, money / 100) for cents, money in PRINTED),
                    "dots",
                    exact=True,
                ),
            ),
            bars=say(
                en=f"Band: 95 % intervals of a share among {number(DRAWS)} draws, in bins of 25 cents.",
                fr=f"Bande : intervalles à 95 % d'une part sur {number(DRAWS)} tirages, par classes de 25 cents.",
            ),
        )

    chart = terms.slides(draw, at=("0.1", "1", "10"))
    price = number(terms.epsilon)
    rows: list[tuple[Cell, ...]] = []
    kept: dict[int, tuple[Around, Around]] = {}
    for copies in TIMES:
        market = Market(copies)
        kept[copies] = (
            mean(market.earned(chosen(market, terms.epsilon, terms.source))),
            mean(market.earned(blurred(market, terms.epsilon, terms.source))),
        )
        rows.append((len(OFFERS) * copies, *kept[copies]))
    guess = mean(one.earned(list(range(1, MOST + 1))))
    right = {cents: one.revenue[cents - 1] for cents, _ in PRINTED}
    wrong = [cents for cents, money in PRINTED if right[cents] != money]
    return Told(
        says=(
            say(
                en="There are plenty of pumpkins and four buyers: A, F and I offer 1 $ each, K offers 3.01 $. At 3.01 $ "
                "the revenue is 3.01 $, at 3 $ and at 1 $ it is 3 $, but at 3.02 $ it is nothing: noise on the best "
                "price would destroy it. So the price is chosen among R = {1 $, 3 $, 3.01 $} by its utility.",
                fr="Des citrouilles en abondance et quatre acheteurs : A, F et I offrent chacun 1 $, K offre 3,01 $. "
                "À 3,01 $ la recette est de 3,01 $, à 3 $ et à 1 $ elle est de 3 $, mais à 3,02 $ elle est nulle : un "
                "bruit sur le meilleur prix le détruirait. Le prix est donc choisi dans R = {1 $, 3 $, 3,01 $} selon "
                "son utilité.",
            ),
        ),
        formulas=(
            Formula(
                r"u(D, p) = p \cdot |\{ x \in D : x \geq p \}|, \qquad \Delta_u = \max R",
                "u(D, p) = p × (number of x in D with x ≥ p),   Δ_u = max R"
                if terms.lang == "en"
                else "u(D, p) = p × (nombre de x dans D avec x ≥ p),   Δ_u = max R",
            ),
        ),
        found=(
            say(
                en=f"Every price from 1 cent to 4 $ is on a public list of {MOST}. Somebody more who buys at price p "
                "adds p to the revenue, at most 4 $, and takes nothing away: that is the sensitivity, and it is large "
                f"beside what four people pay. At ε = {price}, the product's choice (permute-and-flip) brings in "
                f"{percent(kept[1][0].value)} of the best revenue, where a price drawn blindly from the list brings in "
                f"{percent(guess.value)}: four people are hidden, and with them their offers.",
                fr=f"Tous les prix de 1 cent à 4 $ sont sur une liste publique de {MOST}. Une personne de plus qui "
                "achète au prix p ajoute p à la recette, 4 $ au plus, et n'enlève rien : c'est la sensibilité, et elle "
                f"est grande à côté de ce que paient quatre personnes. À ε = {price}, le choix du produit "
                f"(« permute-and-flip ») rapporte {percent(kept[1][0].value)} de la meilleure recette, là où un prix "
                f"tiré au hasard de la liste en rapporte {percent(guess.value)} : quatre personnes sont cachées, et "
                "leurs offres avec elles.",
            ),
            say(
                en="The same four offers a hundred and a thousand times over are another matter: "
                f"{percent(kept[100][0].value)} and {percent(kept[1000][0].value)}. Laplace noise on the best price "
                f"stays at {percent(kept[1000][1].value)}, however many buyers there are: one of them may move the "
                "best price from one end of the list to the other.",
                fr="Les quatre mêmes offres répétées cent fois et mille fois, c'est autre chose : "
                f"{percent(kept[100][0].value)} et {percent(kept[1000][0].value)}. Un bruit de Laplace sur le meilleur "
                f"prix reste à {percent(kept[1000][1].value)}, quel que soit le nombre d'acheteurs : un seul d'entre "
                "eux peut déplacer le meilleur prix d'un bout à l'autre de la liste.",
            ),
        ),
        chart=chart,
        table=Table(
            (
                say(en="buyers", fr="acheteurs"),
                say(en="choice by utility", fr="choix selon l'utilité"),
                say(en="noise on the best price", fr="bruit sur le meilleur prix"),
            ),
            tuple(rows),
            caption=say(
                en=f"Part of the best revenue, mean of {number(DRAWS)} draws ± 95 %, ε = {price}",
                fr=f"Part de la meilleure recette, moyenne de {number(DRAWS)} tirages ± 95 %, ε = {price}",
            ),
        ),
        question=say(
            en="Could the list of prices be made of the offers themselves, since the best price is always one of them?",
            fr="La liste des prix pourrait-elle être faite des offres elles-mêmes, puisque le meilleur prix en est "
            "toujours une ?",
        ),
        answer=(
            say(
                en="No. If 3.01 $ is on the list only because K offers it, then seeing 3.01 $ come out proves that "
                "somebody offers exactly that, with certainty, whatever ε is. A list is written down before anybody "
                "looks at the offers.",
                fr="Non. Si 3,01 $ n'est sur la liste que parce que K l'offre, alors voir sortir 3,01 $ prouve que "
                "quelqu'un offre exactement cela, à coup sûr, quel que soit ε. Une liste s'écrit avant de regarder les "
                "offres.",
            ),
        ),
        remark=(
            say(
                en=f"At {number(wrong[0] // 100)} $ all four buy, K too: the revenue is {number(best / 100)} $, not 3 "
                "$. So 3.01 $ is not the optimal price; 1 $ is. The example still shows that noise destroys such an "
                "answer: just above 1 $ the revenue falls to a quarter, just above 3.01 $ to nothing.",
                fr=f"À {number(wrong[0] // 100)} $, les quatre achètent, K aussi : la recette est de "
                f"{number(best / 100)} $, et non de 3 $. Le prix optimal n'est donc pas 3,01 $, mais 1 $. L'exemple "
                "montre quand même que le bruit détruit une telle réponse : juste au-dessus de 1 $, la recette tombe "
                "au quart, et juste au-dessus de 3,01 $, à rien.",
            ),
            say(
                en="R = {1 $, 3 $, 3.01 $} holds two of the offers, so it was read off the data: that breaks privacy. "
                "The note does not say how large the utility's sensitivity is either; with a public list up to 4 $ it "
                "is 4 $, not 1.",
                fr="R = {1 $, 3 $, 3,01 $} contient deux des offres : elle a été lue dans les données, et cela rompt la "
                "confidentialité. La note ne dit pas non plus combien vaut la sensibilité de l'utilité ; avec une liste "
                "publique jusqu'à 4 $, c'est 4 $, et non 1.",
            ),
        ),
    )


LESSON = Lesson(
    name="citrouilles",
    note="004",
    section=Words("The exponential mechanism, introduction", "Mécanisme exponentiel : introduction"),
    title=Words("The price of pumpkins", "Le prix des citrouilles"),
    minutes=20,
    tell=tell,
    needs=("exponentiel",),
)
