"""A lesson as a sheet to be printed: for a student without the answer, for the teacher with it, or folded away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, assert_never

from sfumato.core.exact import decimal_text
from sfumato.lessons.lesson import Lesson, Terms, Told
from sfumato.show.picture import Slides
from sfumato.show.sheet import Block, Code, Folded, Heading, Paragraph, Sheet
from sfumato.show.text import localised

Answers = Literal["folded", "hidden", "shown"]


def handout(lesson: Lesson, terms: Terms, *, answers: Answers = "folded") -> Sheet:
    """The lesson, acted out now."""
    return printed(lesson, terms, lesson.tell(terms), answers=answers)


def printed(lesson: Lesson, terms: Terms, told: Told, *, answers: Answers = "folded") -> Sheet:
    """What was told, as a sheet."""
    stamp = lesson.stamp(terms)
    needs = ", ".join(lesson.needs)
    parts = [
        terms.say(en=f"Note {lesson.note}", fr=f"Note {lesson.note}") + f", {lesson.section.in_(terms.lang)}",
        f"{lesson.minutes} min",
        *([terms.say(en=f"after {needs}", fr=f"après {needs}")] if needs else []),
        *([f"ε = {localised(decimal_text(terms.epsilon), terms.lang)}"] if lesson.epsilon else []),
    ]
    return Sheet(
        title=lesson.title.in_(terms.lang),
        lang=terms.lang,
        subtitle=" · ".join(parts),
        blocks=tuple(_blocks(lesson, terms, _stamped(told, stamp), answers)),
        stamp=stamp,
        source=terms.say(
            en=f"sfumato lesson {lesson.name} · every figure was computed for this sheet with the product's own "
            "mechanisms",
            fr=f"sfumato lesson {lesson.name} · chaque chiffre a été calculé pour cette feuille par les mécanismes du "
            "produit",
        ),
    )


def _blocks(lesson: Lesson, terms: Terms, told: Told, answers: Answers) -> Iterator[Block]:
    say = terms.say
    yield Heading(say(en="What the note says", fr="Ce que dit la note"))
    yield from map(Paragraph, told.says)
    yield Heading(say(en="The formula", fr="La formule"))
    yield from told.formulas
    yield Heading(say(en="The experiment", fr="L'expérience"))
    yield from map(Paragraph, told.found)
    yield Code(code(lesson, terms))
    yield told.chart
    if told.table is not None:
        yield told.table
    yield Heading("Question")
    yield Paragraph(told.question)
    heading = say(en="Answer", fr="Réponse")
    match answers:
        case "folded":
            yield Folded(heading, tuple(map(Paragraph, told.answer)))
        case "shown":
            yield Heading(heading)
            yield from map(Paragraph, told.answer)
        case "hidden":
            pass
        case _:
            assert_never(answers)
    yield Heading(say(en="Remark on the source", fr="Remarque sur la source"))
    yield from map(Paragraph, told.remark)


def _stamped(told: Told, stamp: str) -> Told:
    """The stamp on every picture too: pictures travel alone."""
    slides = tuple(replace(each, picture=replace(each.picture, stamp=stamp)) for each in told.chart.slides)
    return replace(told, chart=Slides(slides, told.chart.at, told.chart.name))


def code(lesson: Lesson, terms: Terms) -> str:
    """The same again, in Python."""
    asked = [f"lang={terms.lang!r}"]
    asked += [f"epsilon={decimal_text(terms.epsilon)!r}"] if lesson.epsilon else []
    asked += [f"seed={terms.seed}"] if terms.seed is not None else []
    return (
        "from sfumato import lessons\n\n"
        f"lesson = lessons.named({lesson.name!r})\n"
        f"told = lesson.tell(lesson.terms({', '.join(asked)}))\n"
        "list(told.chart.records())[:5]"
    )
