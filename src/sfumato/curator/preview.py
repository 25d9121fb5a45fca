"""The priced question. It is free; asking it executes this very object, so price and charge cannot differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any, Self, final

from sfumato.accounting import Filter, Loss
from sfumato.core.canonical import digest
from sfumato.core.errors import BadInput, Bug, NotSupported
from sfumato.core.exact import Number, decimal_text, positive, probability, up
from sfumato.curator import mixed
from sfumato.curator.choose import choose, comparisons
from sfumato.curator.keys import choose_keys, share_of_delta, stated
from sfumato.curator.ledger.records import Charge
from sfumato.curator.limited import limited
from sfumato.curator.words import coarse, half_width, histogram_words, quantile_words
from sfumato.mechanisms import GaussianKeys, GeometricKeys, LaplaceKeys, Mechanism
from sfumato.mechanisms.histogram.histogram import Histogram
from sfumato.queries.answer import Ranks, counting_of, estimate, holder
from sfumato.queries.bounded import Bounded
from sfumato.queries.expression import Measure
from sfumato.queries.infer import infer
from sfumato.queries.plan import Aggregate, Heads, Ranked, Rowwise, Select, aggregate_of, tables_of
from sfumato.queries.rows import scope_of

if TYPE_CHECKING:
    from sfumato.mechanisms.histogram.axis import Kind
    from sfumato.mechanisms.histogram.compare import Comparison

_LARGEST_EPSILON = Fraction(1000)


@final
@dataclass(frozen=True)
class Preview:
    """A bounded question, one mechanism for each of its statistics, and what they cost together."""

    bounded: Bounded
    mechanisms: tuple[Mechanism[Any, Any], ...]
    epsilon: Fraction
    budget: Filter
    version: str
    policy: str
    confidence: Fraction
    at: int = 1000
    workload: Kind = "bins"
    delta: Fraction | None = None
    """What was asked for with private keys; None: their share of the budget's."""
    nonnegative: bool = True
    """Whether numbers are moved to what is possible before they are shown; the unbiased ones stay beside them."""
    wording: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    """How it was said, where the ledger is to remember that: a server hands an answer out again by its name."""

    def __repr__(self) -> str:
        """As `sfumato preview` prints it. A dump of the plan and its mechanisms told nobody the price."""
        from sfumato.curator.notes import notes
        from sfumato.show.preview import text

        return text(self, notes(self), unit=self.budget.total.currency.value)

    @classmethod
    def of(
        cls,
        bounded: Bounded,
        *,
        epsilon: Number,
        budget: Filter,
        version: str,
        policy: str,
        confidence: Fraction,
        at: int = 1000,
        workload: Kind = "bins",
        delta: Number | None = None,
    ) -> Self:
        """The question at a price in epsilon; with private keys, in delta too."""
        price = positive(epsilon, name="epsilon")
        if bounded.private and workload != "bins":
            raise NotSupported(
                "ranges are asked of groups that nobody lists",
                hint="ask for each group by itself; ranges need ordered public keys",
                code="SF005",
            )
        mechanisms = choose(bounded, price, budget, at=at, workload=workload)
        mass = None if delta is None else positive(delta, name="delta")
        if bounded.private:
            keys = choose_keys(
                bounded.sensitivities[0],
                mechanisms[0],
                told=Heads(told=True) in bounded.tally.statistics,
                share=price / len(mechanisms),
                delta=share_of_delta(mass, epsilon=price, budget=budget),
                budget=budget,
            )
            mechanisms = (keys, *mechanisms[1:])
        elif mass is not None:
            raise BadInput("these groups are public: they cost no delta", hint="leave --delta out")
        return cls(bounded, mechanisms, price, budget, version, policy, confidence, at, workload, mass)

    @classmethod
    def reaching(
        cls,
        bounded: Bounded,
        *,
        within: Number,
        at: int,
        budget: Filter,
        version: str,
        policy: str,
        confidence: Fraction,
        workload: Kind = "bins",
        delta: Number | None = None,
    ) -> Self:
        """The cheapest price, to two digits, at which bars are at most `within` wide in groups of `at` rows.

        It speaks of the means when there are any, and otherwise of every column. Of quantiles it is a part of all ranks:
        0.01 for "between the 49 % and the 51 % quantile".
        """
        target = positive(within, name="within")
        if at < 1:
            raise BadInput("a group has at least one row", hint="give --at 1000, say")

        kinds = {each.kind == "quantile" for each in _aggregate(bounded).measures}
        if len(kinds) > 1 and not any(each.kind == "mean" for each in _aggregate(bounded).measures):
            raise NotSupported(
                "a width speaks of numbers or of ranks, and here are both",
                hint="ask with --epsilon, or ask the quantiles by themselves",
                code="SF004",
            )

        def priced(epsilon: Fraction) -> Self:
            return cls.of(
                bounded,
                epsilon=epsilon,
                budget=budget,
                version=version,
                policy=policy,
                confidence=confidence,
                at=at,
                workload=workload,
                delta=delta,
            )

        def reached(epsilon: Fraction) -> bool:
            return priced(epsilon).widest() <= target

        high = Fraction(1)
        while not reached(high):
            high *= 2
            if high > _LARGEST_EPSILON:
                raise NotSupported(
                    f"no reasonable price makes bars of {decimal_text(target)} in groups of {at}",
                    hint="ask for wider bars, or for larger groups (--at)",
                    code="SF012",
                )
        low = high / 2
        while reached(low):
            low, high = low / 2, low
        unit = Fraction(1)
        while unit * 100 <= high:
            unit *= 10
        while unit * 10 > high:
            unit /= 10
        step = unit / 10 if unit * 10 > high else unit
        few, many = low // step, -(-high // step)
        while many - few > 1:
            middle = (few + many) // 2
            few, many = (few, middle) if reached(middle * step) else (middle, many)
        return priced(many * step)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What each statistic costs."""
        pairs = zip(self.mechanisms, self.bounded.sensitivities, strict=True)
        share = self.epsilon / len(self.mechanisms)
        return tuple(
            stated(mechanism.loss(sensitivity), share=share, budget=self.budget) for mechanism, sensitivity in pairs
        )

    @property
    def loss(self) -> Loss:
        """What the question costs."""
        return reduce(add, self.losses)

    @cached_property
    def charge(self) -> Charge:
        """What the ledger will write: the sum of the losses in the currency of the budget."""
        costs = [self.budget.cost(loss) for loss in self.losses]
        return Charge(sum((c.amount for c in costs), Fraction(0)), sum((c.failure for c in costs), Fraction(0)))

    @cached_property
    def key(self) -> str:
        """The question's key: asking it again replays the answer. What is done after the release is not part of it."""
        return digest({"plan": self.bounded.key, "version": self.version, "mechanisms": self.described()})

    @property
    def columns(self) -> tuple[str, ...]:
        question = self.bounded.question
        return tuple(name for name, _ in question.columns) if isinstance(question, Select) else ()

    @property
    def counts(self) -> frozenset[str]:
        """The columns that count something, and are whole numbers therefore."""
        question = self.bounded.question
        columns = question.columns if isinstance(question, Select) else ()
        kinds = {"rows", "present", "units", "distinct"}
        return frozenset(name for name, each in columns if isinstance(each, Measure) and each.kind in kinds)

    @property
    def measured(self) -> frozenset[str]:
        """The columns that are measures themselves."""
        question = self.bounded.question
        columns = question.columns if isinstance(question, Select) else ()
        return frozenset(name for name, each in columns if isinstance(each, Measure))

    @property
    def quantiles(self) -> dict[str, tuple[Fraction, ...]]:
        """The columns of quantiles, and which these are."""
        question = self.bounded.question
        columns = question.columns if isinstance(question, Select) else ()
        return {name: each.at for name, each in columns if isinstance(each, Measure) and each.at}

    @property
    def counted(self) -> str:
        """What a count counts."""
        tally, about = self.bounded.tally, self.bounded.about
        most = self.bounded.tally.child.bound  # type: ignore[union-attr]
        tables = " joined with ".join(tables_of(tally))
        within = "; ".join(limited(tally))
        if tally.most is not None and self.bounded.whole != 1:  # whose one row is in one group is left out of none
            within = "; ".join(filter(None, [f"each {about.unit} in at most {tally.most} groups (max_groups)", within]))
        rest = f"; {within}" if within else ""
        if self.bounded.whole == 1 and about.unit != "row":
            return f"{tables}, one row per {about.unit}" + (rest or ": nobody is cut off")
        if self.bounded.fact and tally.most is None:
            return f"all {tables}: no {about.unit} has more than {most}, says the policy{rest}"
        return f"{tables}, at most {most} per {about.unit}{rest}"

    def worded(self, wording: Mapping[str, Any] | None) -> Self:
        """The same question, with the words that it was asked in."""
        return replace(self, wording=wording)

    def priced(self) -> dict[str, Any]:
        """The terms that it was asked on: what `preview` takes, as canonical JSON spells it."""
        said: dict[str, Any] = {"epsilon": str(self.epsilon), "at": self.at, "confidence": str(self.confidence)}
        if self.workload != "bins":
            said["workload"] = self.workload
        return said if self.delta is None else {**said, "delta": str(self.delta)}

    @property
    def told(self) -> bool:
        """Whether the number of units of each private group is part of the answer."""
        return Heads(told=True) in self.bounded.tally.statistics

    @property
    def threshold(self) -> int | None:
        """Below how many units private groups are withheld, noise included; None where groups are public."""
        return int(self.mechanisms[0].threshold) if self.bounded.private else None  # type: ignore[attr-defined]

    def described(self) -> list[dict[str, str]]:
        """The mechanisms, as keys and certificates spell them."""
        return [mechanism.describe() for mechanism in self.mechanisms]

    def what(self) -> dict[str, Any]:
        """What the ledger keeps of the question: its plan and its price, never its rows."""
        asked = {} if self.wording is None else {"asked": {**self.wording, **self.priced()}}
        return asked | {
            "plan": self.bounded.key,
            "version": self.version,
            "mechanisms": self.described(),
            "losses": [dict(loss.describe()) for loss in self.losses],
        }

    def noise(self) -> str:
        """The noise of one cell, in words."""
        words = []
        for mechanism, statistic in zip(self.mechanisms, self.bounded.tally.statistics, strict=True):
            if isinstance(statistic, Ranked):
                words.append(quantile_words(mechanism, statistic, self.bounded.whole))
                continue
            if isinstance(mechanism, Histogram):
                words.append(histogram_words(mechanism, self.bounded.whole))
                continue
            if isinstance(statistic, Heads):
                words.append(_of_keys(mechanism))
                continue
            unit = self.bounded.whole * (statistic.top if isinstance(statistic, Rowwise) else 1)
            name, field = ("Laplace", "scale") if mechanism.noise_field == "scale" else ("Gaussian", "sigma")
            amount = getattr(mechanism, mechanism.noise_field) / unit
            words.append(f"discrete {name}, {field} {decimal_text(amount)}")
        return "; ".join(dict.fromkeys(words))

    def cell_widths(self, confidence: Number | None = None) -> tuple[Fraction, ...]:
        """The half-width of the noise of one cell, for each statistic, in cell units."""
        sure = self.confidence if confidence is None else probability(confidence, name="confidence")
        return tuple(Fraction(half_width(mechanism, sure, self.bounded)) for mechanism in self.mechanisms)

    def comparisons(self) -> tuple[Comparison, ...]:
        """For each statistic the strategies that were compared on the workload; none where groups stand by themselves."""
        return () if self.workload == "bins" else comparisons(self.bounded, self.epsilon, self.budget, self.workload)

    def ranks(self) -> dict[int, Ranks]:
        """What the bars of quantiles are made of, by the place of the statistic: half of the risk is the rows'."""
        statistics, whole = self.bounded.tally.statistics, self.bounded.whole
        surer = (1 + self.confidence) / 2
        found = {}
        for place, (statistic, mechanism) in enumerate(zip(statistics, self.mechanisms, strict=True)):
            if isinstance(statistic, Ranked):
                rows, counted = None, counting_of(statistic, self.bounded)
                if counted is not None:
                    by, width = statistics[counted], Fraction(self.mechanisms[counted].within(surer))
                    rows = estimate(Measure("present", statistic.of), by, [0] * by.width, width, whole).within
                weight = Fraction(half_width(mechanism, surer, self.bounded))
                grain = infer(statistic.of, scope_of(self.bounded.tally.child)).grain
                between = statistic.scale == "number" and grain is not None and grain < statistic.step
                found[place] = Ranks(weight, rows, coarse(mechanism) + between)
        return found

    def scale(self, name: str) -> str:
        """Whether a column of quantiles is of a "number", of a "day", or of categories in an "order"."""
        return self._ranked(name).scale

    def rank_width(self, name: str, confidence: Number | None = None) -> float:
        """By how many rows of full weight the ranks of a column of quantiles may be off, whatever the data; rounded up."""
        place = self.bounded.tally.statistics.index(self._ranked(name))
        return up(self.cell_widths(confidence)[place] / self.bounded.whole)

    def bin(self, name: str) -> Fraction | None:
        """How wide the bins are that a column of quantiles is told by, where it is told less finely than it is asked."""
        statistic = self._ranked(name)
        run = coarse(self.mechanisms[self.bounded.tally.statistics.index(statistic)])
        return run * statistic.step if run else None

    def _ranked(self, name: str) -> Ranked:
        question = self.bounded.question
        measure = dict(question.columns)[name] if isinstance(question, Select) else None
        assert isinstance(measure, Measure)
        statistic = holder(measure, self.bounded)
        assert isinstance(statistic, Ranked)
        return statistic

    def within(self, *, at: int | None = None, confidence: Number | None = None) -> dict[str, float]:
        """The half-width of every measured column in a group of `at` rows; noise only. A quantile's is a part of all ranks."""
        question = self.bounded.question
        columns = question.columns if isinstance(question, Select) else ()
        named = [(name, each) for name, each in columns if isinstance(each, Measure)]
        return {name: float(self._width(measure, at or self.at, confidence)) for name, measure in named}

    def widest(self) -> Fraction:
        """The widest bar of the means, or of everything when there are none."""
        measured = _aggregate(self.bounded).measures
        means = [each for each in measured if each.kind == "mean"]
        return max(self._width(each, self.at, None) for each in means or measured)

    def _width(self, measure: Measure, at: int, confidence: Number | None) -> Fraction:
        statistic = holder(measure, self.bounded)
        place = self.bounded.tally.statistics.index(statistic)
        if isinstance(statistic, Ranked):
            return min(Fraction(1), self.cell_widths(confidence)[place] / (self.bounded.whole * at))
        found = estimate(
            measure,
            statistic,
            _typical(statistic, at, self.bounded.whole),
            self.cell_widths(confidence)[place],
            self.bounded.whole,
        )
        found = found.narrowed(mixed.width(measure, [self], confidence))
        return Fraction(0) if found.within is None else found.within


def _of_keys(mechanism: Mechanism[Any, Any]) -> str:
    """The noise that private groups are told by, in words."""
    match mechanism:
        case LaplaceKeys(threshold, scale):
            return f"keys: discrete Laplace, scale {decimal_text(scale)}, threshold {threshold}"
        case GaussianKeys(threshold, sigma):
            return f"keys: discrete Gaussian, sigma {decimal_text(sigma)}, threshold {threshold}"
        case GeometricKeys(bound, scale):
            return f"keys: truncated geometric, scale {decimal_text(scale)}, threshold {bound + 1}"
    raise Bug("private groups are told by an unknown mechanism")


def _typical(statistic: Any, at: int, whole: int) -> list[int]:
    """The cells of a group of `at` rows in the middle of their range: the width of a mean depends on their number only."""
    if not isinstance(statistic, Rowwise):
        return [at * whole]
    half = at * whole * statistic.top // 2
    return [half, half, half // 3][: statistic.width] if statistic.width > 1 else [at * whole]


def _aggregate(bounded: Bounded) -> Aggregate:
    return aggregate_of(bounded.question)
