"""A model trained where the rows are: clipped updates, and noise where they are summed. Note 000, the framework at its end."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, final

from sfumato.lessons.frequency import mean
from sfumato.lessons.lesson import Lesson, Terms, Told, Words
from sfumato.show.picture import Axis, Picture, Point, Series, Slides
from sfumato.show.sheet import Around, Cell, Formula, Table

if TYPE_CHECKING:
    from sfumato.accounting import Loss
    from sfumato.core.sensitivity import Sensitivity
    from sfumato.mechanisms import Gaussian
    from sfumato.noise import Source

CLIENTS, EACH, WIDTH = 200, 20, 3
ROUNDS = 12
TRAININGS = 20
DELTA = "1e-5"
UNIT = 1 << 16
"""An update of norm 1 in whole steps: what is summed and blurred are whole numbers."""
STEP = 3.0
PRICES = tuple(Fraction(each) for each in ("3/100", "1/10", "3/10", "1", "3", "10"))


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """Two features and a constant, and labels 0 or 1."""

    features: Any
    labels: Any

    @classmethod
    def of(cls, count: int, start: int) -> Rows:
        """Made up, the same each time: normal features, and labels that follow a line, blurred."""
        import numpy as np
        from scipy.stats import norm

        # Multiples of irrational numbers modulo 1 fill the cube evenly.
        places = np.arange(start, start + count)
        first, second, third = (norm.ppf((places * root + 0.5) % 1) for root in (2**0.5, 3**0.5, 5**0.5))
        labels = (1.5 * first - second + 0.5 + 0.7 * third > 0).astype(float)
        return cls(np.column_stack([first, second, np.ones(count)]), labels)

    def accuracy(self, model: Any) -> float:
        """The share of labels that a model finds."""
        import numpy as np

        return float(np.mean((self.features @ model > 0) == (self.labels > 0.5)))


@cache
def rows() -> tuple[Rows, Rows]:
    """All clients' rows, client after client; and rows that no client holds."""
    return Rows.of(CLIENTS * EACH, 1), Rows.of(2000, 100_000)


def updates(model: Any) -> Any:
    """One update per client: four times the gradient of the mean logistic loss on its own rows."""
    from scipy.special import expit

    held = rows()[0]
    errors = held.labels - expit(held.features @ model)
    return 4 * (held.features * errors[:, None]).reshape(CLIENTS, EACH, WIDTH).mean(axis=1)


def clipped(each: Any) -> Any:
    """Each update within norm 1, in whole steps.

    It is shortened to a little below 1, by more than floats may be off, and rounded towards 0, which lengthens no cell:
    so the norm in steps is at most UNIT, exactly.
    """
    import numpy as np

    norms = np.linalg.norm(each, axis=1, keepdims=True)
    short = each * (UNIT * (1 - 2.0**-30)) / np.maximum(norms, 1)
    return np.trunc(short).astype(np.int64)


def reach(norm: int = 1) -> Sensitivity:
    """A client comes or goes: the sum moves by its update."""
    from sfumato.core.sensitivity import Sensitivity

    length = Fraction(norm * UNIT)
    return Sensitivity(WIDTH * length, length, length * length, cells=WIDTH)


def spent(noise: Gaussian, rounds: int) -> Loss:
    """What so many rounds cost, each chosen after the earlier ones were seen."""
    return noise.loss(reach()) * rounds


def quietest(epsilon: Fraction, rounds: int) -> Gaussian:
    """The least noise for which all rounds together keep (epsilon, DELTA)."""
    from sfumato.accounting import calibrate
    from sfumato.mechanisms import Gaussian

    sigma = calibrate(
        lambda amount: spent(Gaussian(sigma=amount), rounds),
        epsilon=epsilon,
        delta=DELTA,
        start=Fraction(UNIT * 4) / epsilon,
    )
    return Gaussian(sigma=sigma)


def trained(noise: Gaussian | None, source: Source) -> float:
    """A training from nothing, and how well it does on rows that no client holds; without noise when there is none."""
    import numpy as np

    model = np.zeros(WIDTH)
    for _ in range(ROUNDS):
        total = clipped(updates(model)).sum(axis=0)
        if noise is not None:
            total = noise.release(total, reach(), source=source).value
        # The number of clients is public.
        model = model + STEP * total / (UNIT * CLIENTS)
    return rows()[1].accuracy(model)


def trainings(noise: Gaussian, source: Source) -> Around:
    """The mean accuracy of TRAININGS trainings."""
    import numpy as np

    return mean(np.array([trained(noise, source) for _ in range(TRAININGS)]))


def tell(terms: Terms) -> Told:
    """Accuracy against epsilon, what each round spends, and noise for one round used in all."""
    import numpy as np

    say, number, percent = terms.say, terms.number, terms.percent
    prices = sorted({*PRICES, terms.epsilon})
    noises = {epsilon: quietest(epsilon, ROUNDS) for epsilon in prices}
    found = {epsilon: trainings(noise, terms.source) for epsilon, noise in noises.items()}
    silent = trained(None, terms.source)
    price, ours = number(terms.epsilon), found[terms.epsilon]
    once = quietest(terms.epsilon, 1)
    reused = spent(once, ROUNDS).epsilon(DELTA)
    norms = np.linalg.norm(updates(np.zeros(WIDTH)), axis=1)
    largest, cut = float(norms.max()), float((norms > 1).mean())
    far = 10
    unclipped = (noises[terms.epsilon].loss(reach(far)) * ROUNDS).epsilon(DELTA)
    names = say(en="trained with noise", fr="entraîné avec bruit"), say(en="without noise", fr="sans bruit")
    least, most = found[prices[0]], found[prices[-1]]
    picture = Picture(
        title=say(en="A model of 200 clients, δ = 10⁻⁵", fr="Un modèle de 200 clients, δ = 10⁻⁵"),
        told=say(
            en=f"Accuracy rises from {percent(least.value)} at ε = {number(prices[0])} to {percent(most.value)} at ε = "
            f"{number(prices[-1])}; without noise it is {percent(silent)}.",
            fr=f"L'exactitude passe de {percent(least.value)} à ε = {number(prices[0])} à {percent(most.value)} à ε = "
            f"{number(prices[-1])} ; sans bruit, elle est de {percent(silent)}.",
        ),
        x=Axis("ε", scale="log"),
        y=Axis(say(en="accuracy on other rows", fr="exactitude sur d'autres lignes"), domain=(0.4, 1), percent=True),
        series=(
            Series(
                names[0],
                tuple(
                    Point(float(epsilon), each.value, each.value - each.within, min(1.0, each.value + each.within))
                    for epsilon, each in found.items()
                ),
            ),
            Series(names[1], tuple(Point(float(epsilon), silent) for epsilon in prices), "line", exact=True),
        ),
        bars=say(
            en=f"Bars: 95 % intervals of the mean of {TRAININGS} trainings.",
            fr=f"Barres : intervalles à 95 % de la moyenne de {TRAININGS} entraînements.",
        ),
    )
    table: tuple[tuple[Cell, ...], ...] = tuple(
        (
            epsilon,
            float(noise.sigma / UNIT),
            Around(found[epsilon].value * 100, found[epsilon].within * 100),
            *(spent(noise, rounds).epsilon(DELTA) for rounds in (1, ROUNDS // 2, ROUNDS)),
        )
        for epsilon, noise in noises.items()
    )
    return Told(
        says=(
            say(
                en="The note ends with a link to a framework of federated learning that offers differential privacy. "
                "There, rows stay with their clients; each sends an update of the model. An update tells of its rows, "
                "so it is clipped, and noise is added where updates are summed.",
                fr="La note se termine par un lien vers un logiciel d'apprentissage fédéré qui offre la "
                "confidentialité différentielle. Les lignes y restent chez les clients ; chacun envoie une mise à jour "
                "du modèle. Celle-ci parle de ses lignes : on la rogne, et l'on bruite la somme des mises à jour.",
            ),
        ),
        formulas=(
            Formula(
                r"\theta_{t+1} = \theta_t + \frac{\eta}{n} \left( \sum_{i=1}^{n} \frac{g_i}{\max(1, \|g_i\|_2)} + "
                r"N(0, \sigma^2 I) \right)",
                "θ_{t+1} = θ_t + (η/n) (Σ_i g_i / max(1, ‖g_i‖_2) + N(0, σ² I))",
            ),
        ),
        found=(
            say(
                en=f"{number(CLIENTS)} simulated clients with {EACH} rows each (made up) train a logistic regression "
                f"in {ROUNDS} rounds. Updates are clipped to norm 1 and become whole numbers; the product's discrete "
                f"Gaussian blurs their sum. In the first round {percent(cut)} of them are shortened. One client, with "
                "all its rows, is what is hidden.",
                fr=f"{number(CLIENTS)} clients simulés, de {EACH} lignes chacun (inventées), entraînent une "
                f"régression logistique en {ROUNDS} tours. Les mises à jour sont rognées à la norme 1 et deviennent "
                "des nombres entiers ; le gaussien discret du produit brouille leur somme. Au premier tour, "
                f"{percent(cut)} d'entre elles sont raccourcies. Ce qui est caché, c'est un client, avec toutes ses "
                "lignes.",
            ),
            say(
                en=f"At ε = {price}, accuracy is {percent(ours.value)} on rows that no client holds, against "
                f"{percent(silent)} without noise. The losses of the {ROUNDS} rounds are composed, not bounded one by "
                "one: the table shows what was spent after one round, half of them and all.",
                fr=f"À ε = {price}, l'exactitude est de {percent(ours.value)} sur des lignes qu'aucun client ne "
                f"détient, contre {percent(silent)} sans bruit. Les pertes des {ROUNDS} tours sont composées, et non "
                "majorées une à une : le tableau montre ce qui est dépensé après un tour, la moitié et tous.",
            ),
        ),
        chart=Slides.one(picture),
        table=Table(
            (
                "ε",
                "σ",
                say(en="accuracy, %", fr="exactitude, %"),
                say(en="ε after 1 round", fr="ε après 1 tour"),
                say(en=f"after {ROUNDS // 2}", fr=f"après {ROUNDS // 2}"),
                say(en=f"after {ROUNDS}", fr=f"après {ROUNDS}"),
            ),
            table,
            caption=say(en="σ in clipping norms; δ = 10⁻⁵", fr="σ en normes de rognage ; δ = 10⁻⁵"),
        ),
        question=say(
            en="Why must the clipping norm not be the largest norm that was seen among the updates?",
            fr="Pourquoi la norme de rognage ne doit-elle pas être la plus grande norme observée parmi les mises à "
            "jour ?",
        ),
        answer=(
            say(
                en="It would be a statistic of the rows, told by the size of the noise, and without noise of its own: "
                f"here {number(largest)} in the first round. One client more may change it by any amount. The norm is "
                "chosen before, or found privately and paid for.",
                fr="Ce serait une statistique des lignes, révélée par la taille du bruit, et sans bruit elle-même : "
                f"ici, {number(largest)} au premier tour. Un client de plus peut la changer d'autant que l'on veut. La "
                "norme se choisit d'avance, ou se trouve de façon confidentielle et se paie.",
            ),
        ),
        remark=(
            say(
                en="The note gives the link and nothing else. Left open: the unit that is hidden (a client or a "
                f"row), the clipping, the number of rounds. Measured: noise for one round at ε = {price}, used in all "
                f"{ROUNDS}, keeps ε = {number(reused)}; noise for all rounds without clipping, when one client's "
                f"update has norm {far}, keeps ε = {number(unclipped)}.",
                fr="La note donne le lien et rien d'autre. Restent ouverts : l'unité cachée (un client ou une "
                f"ligne), le rognage, le nombre de tours. Mesuré : un bruit prévu pour un tour à ε = {price}, utilisé "
                f"pour les {ROUNDS}, tient ε = {number(reused)} ; un bruit prévu pour tous les tours, sans rognage, "
                f"quand la mise à jour d'un client est de norme {far}, tient ε = {number(unclipped)}.",
            ),
            say(
                en="Whoever sums sees the clipped updates: this noise protects from those who see the model, not from "
                "the server. This lesson simulates clients in one process; the product trains no models.",
                fr="Qui fait la somme voit les mises à jour rognées : ce bruit protège de ceux qui voient le modèle, "
                "non du serveur. Cette leçon simule les clients dans un seul processus ; le produit n'entraîne pas de "
                "modèles.",
            ),
        ),
    )


LESSON = Lesson(
    name="federe",
    note="000",
    section=Words("Framework", "Framework"),
    title=Words("A model trained where the rows are", "Un modèle entraîné là où sont les lignes"),
    minutes=40,
    tell=tell,
    needs=("bruit",),
)
