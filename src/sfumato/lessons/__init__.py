"""The notes, acted out: one command, one chart and one question each, with the product's own mechanisms."""

from __future__ import annotations

from sfumato.core.errors import BadInput
from sfumato.lessons.bruit import LESSON as BRUIT
from sfumato.lessons.bruit_borne import LESSON as BRUIT_BORNE
from sfumato.lessons.citrouilles import LESSON as CITROUILLES
from sfumato.lessons.composition import LESSON as COMPOSITION
from sfumato.lessons.deciles import LESSON as DECILES
from sfumato.lessons.definition import LESSON as DEFINITION
from sfumato.lessons.exponentiel import LESSON as EXPONENTIEL
from sfumato.lessons.federe import LESSON as FEDERE
from sfumato.lessons.films import LESSON as FILMS
from sfumato.lessons.histogramme import LESSON as HISTOGRAMME
from sfumato.lessons.k_anonymat import LESSON as K_ANONYMAT
from sfumato.lessons.laplace import LESSON as LAPLACE
from sfumato.lessons.lesson import Lesson, Terms, Told
from sfumato.lessons.mallory import LESSON as MALLORY
from sfumato.lessons.moyennage import LESSON as MOYENNAGE
from sfumato.lessons.patients import LESSON as PATIENTS
from sfumato.lessons.poids import LESSON as POIDS
from sfumato.lessons.privelet import LESSON as PRIVELET
from sfumato.lessons.pufferfish import LESSON as PUFFERFISH
from sfumato.lessons.questions import LESSON as QUESTIONS
from sfumato.lessons.reponse_aleatoire import LESSON as REPONSE_ALEATOIRE
from sfumato.lessons.roles import LESSON as ROLES
from sfumato.lessons.sensibilite import LESSON as SENSIBILITE
from sfumato.lessons.seuil import LESSON as SEUIL
from sfumato.lessons.voisines import LESSON as VOISINES

LESSONS: tuple[Lesson, ...] = (
    MALLORY,
    K_ANONYMAT,
    VOISINES,
    SENSIBILITE,
    REPONSE_ALEATOIRE,
    DEFINITION,
    LAPLACE,
    ROLES,
    HISTOGRAMME,
    EXPONENTIEL,
    CITROUILLES,
    FILMS,
    MOYENNAGE,
    COMPOSITION,
    PATIENTS,
    QUESTIONS,
    BRUIT,
    BRUIT_BORNE,
    PUFFERFISH,
    POIDS,
    FEDERE,
    SEUIL,
    DECILES,
    PRIVELET,
)
"""The course, in the order in which it is taught: a lesson comes after those that it needs."""

__all__ = ["LESSONS", "Lesson", "Terms", "Told", "named"]


def named(name: str) -> Lesson:
    """The lesson of this name; the nearest ones are offered when there is none."""
    from difflib import get_close_matches

    for lesson in LESSONS:
        if lesson.name == name:
            return lesson
    near = get_close_matches(name.lower(), [lesson.name for lesson in LESSONS], n=3, cutoff=0.4)
    offered = f"did you mean {' or '.join(near)}? " if near else ""
    raise BadInput(f"there is no lesson {name[:40]!r}", hint=f"{offered}`sfumato lesson list` names them all")
