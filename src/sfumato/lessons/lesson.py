"""What a lesson is: a place in the course, and a function that acts it out and says what came out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import exp, log
from typing import TYPE_CHECKING, final

from sfumato.core.errors import BadInput, NotAllowed
from sfumato.core.exact import Number, decimal_text, positive
from sfumato.lessons.toy import STAMP, ToySource
from sfumato.show.picture import Picture, Slide, Slides
from sfumato.show.sheet import Formula, Lang, Table, spelled
from sfumato.show.text import localised, superscript
from sfumato.show.typography import firm, french

if TYPE_CHECKING:
    from sfumato.noise import Source

LEAST, MOST = Fraction(1, 1000), Fraction(100)
"""The values of epsilon that a lesson takes: below, every chart is noise; above, there is no promise left to look at."""


@final
@dataclass(frozen=True, slots=True)
class Words:
    """The same in English and in French."""

    en: str
    fr: str

    def in_(self, lang: Lang) -> str:
        return french(self.fr) if lang == "fr" else firm(self.en)


@final
@dataclass(frozen=True)
class Terms:
    """How a lesson is acted out: in which language, at which epsilon, with whose noise."""

    lang: Lang = "en"
    epsilon: Fraction = field(default=Fraction(1))
    seed: int | None = None

    @cached_property
    def source(self) -> Source:
        """The source of this process, as in production; a toy one when a seed was given."""
        from sfumato.noise import system_source

        return system_source() if self.seed is None else ToySource(self.seed)

    def say(self, *, en: str, fr: str) -> str:
        """The sentence in the language that was asked for. Plain spaces will do: French ones are made firm here."""
        return Words(en, fr).in_(self.lang)

    def number(self, value: float | Fraction, digits: int = 3) -> str:
        """A number inside a sentence: 1 234, 0.5 or 0,5, 1.6 × 10⁻⁸."""
        return spelled(value, lang=self.lang, digits=digits)

    def percent(self, part: float) -> str:
        """A part of one as a percentage."""
        from sfumato.show.text import percent

        return percent(part, lang=self.lang)

    def power(self, epsilon: float | Fraction) -> str:
        """e^epsilon: as a number up to a thousand, as the power of ten below it beyond."""
        if epsilon < log(1000):
            return self.number(exp(epsilon), 2)
        return "10" + superscript(int(epsilon / log(10)))

    def noise(self, described: str) -> str:
        """The product's words for a noise ("discrete Laplace, scale 2"), in the language that was asked for."""
        if self.lang == "en":
            return described
        words = {"discrete Laplace": "Laplace discret", "discrete Gaussian": "gaussien discret", "scale": "échelle"}
        for english, spoken in words.items():
            described = described.replace(english, spoken)
        return localised(described, "fr")

    def slides(self, draw: Callable[[Fraction], Picture], *, at: tuple[str, ...]) -> Slides:
        """A slider over epsilon: `draw` at each of these values and at the one asked for, which is seen first."""
        places = sorted({Fraction(each) for each in at} | {self.epsilon})
        made = tuple(Slide(localised(decimal_text(each), self.lang), draw(each)) for each in places)
        return Slides(made, places.index(self.epsilon))


@final
@dataclass(frozen=True)
class Told:
    """What came out, in one language: every figure in it was computed when it was told."""

    says: tuple[str, ...]
    """What the note says."""
    formulas: tuple[Formula, ...]
    found: tuple[str, ...]
    """What was done here, with which mechanism, and what was seen."""
    chart: Slides
    question: str
    answer: tuple[str, ...]
    remark: tuple[str, ...]
    """Where the note slips and what that costs, measured; or what it leaves out."""
    table: Table | None = None


@final
@dataclass(frozen=True)
class Lesson:
    """One row of the course. `tell` acts it out.

    `epsilon` is the default; None when the lesson has none to choose. `toy`: every row it shows was generated, so that a
    class may share a seed; a lesson on real people's rows takes none.
    """

    name: str
    note: str
    section: Words
    title: Words
    minutes: int
    tell: Callable[[Terms], Told]
    needs: tuple[str, ...] = ()
    epsilon: str | None = "1"
    toy: bool = True

    def terms(self, *, lang: Lang = "en", epsilon: Number | None = None, seed: int | None = None) -> Terms:
        """The terms of one telling, checked."""
        if seed is not None and not self.toy:
            raise NotAllowed(
                f"the lesson {self.name} shows rows of real people, and noise that can be repeated can be subtracted.",
                hint="leave --seed out; lessons on generated tables take one",
                code="SF015",
            )
        if epsilon is not None and self.epsilon is None:
            raise BadInput(f"the lesson {self.name} has no epsilon to choose", hint="leave --epsilon out")
        price = positive(epsilon if epsilon is not None else self.epsilon or 1, name="epsilon")
        if not LEAST <= price <= MOST:
            raise BadInput("this epsilon would show nothing", hint="a lesson takes an epsilon from 0.001 to 100")
        if seed is not None:
            ToySource(seed)
        return Terms(lang, price, seed)

    def stamp(self, terms: Terms) -> str:
        """What stands over everything that was made with a seed."""
        return (
            ""
            if terms.seed is None
            else terms.say(
                en=f"{STAMP} · seed {terms.seed} · this noise protects nobody",
                fr=f"{STAMP} · graine {terms.seed} · ce bruit ne protège personne",
            )
        )
