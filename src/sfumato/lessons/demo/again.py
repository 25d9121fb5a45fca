"""Scene 2. Averaging fresh noise would tell everything; the curator replays, refuses at the budget, and survives a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.core.errors import BudgetExceeded
from sfumato.core.exact import decimal_text
from sfumato.lessons.demo.scene import Scene
from sfumato.lessons.lesson import Words
from sfumato.show.sheet import Around, Paragraph, Table
from sfumato.show.text import localised

if TYPE_CHECKING:
    from sfumato.lessons.demo.stage import Stage

QUESTION = "SELECT COUNT(*) AS people FROM adult WHERE age > 60"
PRICE = Fraction(1, 10)
TIMES = (1, 10, 100, 1000)
SERIES = 400
"""How often each average is taken, to say how far off it is."""
REPLAYS = 100
KILLED_AFTER = 3

_VICTIM = """
import sys
from fractions import Fraction
from pathlib import Path

from sfumato.curator.dataset import open_dataset
from sfumato.curator.home import Home

session = open_dataset(Path(sys.argv[1]), home=Home(Path(sys.argv[2]))).session("killed")
for place in range(100_000):
    price = Fraction(1, 1000) + Fraction(place, 10**8)
    session.ask("SELECT COUNT(*) AS people FROM adult WHERE age > 60", epsilon=price)
    print(price, flush=True)
"""

TITLE = Words("Ask again", "Redemander")


def act(stage: Stage) -> Scene:
    """What repetition would leak and cost, what the curator does instead, and a process killed in the middle."""
    say, number = stage.terms.say, stage.terms.number
    session = stage.people.session("mallory")
    before = stage.people.ledger.totals().spent.amount
    seen = {str(session.ask(QUESTION, epsilon=PRICE).rows[0]) for _ in range(REPLAYS)}
    replayed = stage.people.ledger.totals().spent.amount - before
    fresh, refusal = 1, ""
    while not refusal:
        try:
            session.ask(QUESTION, epsilon=PRICE + Fraction(fresh, 10**6))
            fresh += 1
        except BudgetExceeded as error:
            refusal = error.message
    said, charged, kept = killed(stage)
    cap = localised(decimal_text(stage.people.ledger.totals().caps.analysts["killed"].amount), stage.lang)
    return Scene(
        stage.title(TITLE),
        (
            Paragraph(
                say(
                    en="Noise that is drawn anew for every repetition can be averaged away. How far the average "
                    "would be off, and what the repetitions would cost:",
                    fr="Un bruit tiré de nouveau à chaque répétition s'efface en moyenne. De combien la moyenne "
                    "s'écarterait, et ce que coûteraient les répétitions :",
                )
            ),
            leaked(stage),
            Paragraph(
                say(
                    en=f"The curator was asked the same question {number(REPLAYS)} times: {number(len(seen))} answer, "
                    f"ε = {number(replayed)} spent in all. Asked at ever new prices it gave {number(fresh)} answers "
                    f"and then refused: {refusal}.",
                    fr=f"Le curateur a reçu {number(REPLAYS)} fois la même question : {number(len(seen))} réponse, ε "
                    f"= {number(replayed)} dépensé en tout. À des prix toujours nouveaux, il a donné {number(fresh)} "
                    "réponses, puis a refusé (SF003) : le budget de cet analyste est épuisé.",
                )
            ),
            Paragraph(
                say(
                    en=f"A process that asked on was killed after {number(said)} answers (kill -9). The ledger "
                    f"verifies: {number(charged)} charges for the {number(said)} answers that came out, each of them "
                    f"stored ({number(kept)} in all), and no more than its cap of {cap} can ever be spent.",
                    fr=f"Un processus qui continuait à demander a été tué après {number(said)} réponses (kill -9). Le "
                    f"registre se vérifie : {number(charged)} débits pour les {number(said)} réponses sorties, toutes "
                    f"conservées ({number(kept)} en tout), et jamais plus que son plafond de {cap} ne pourra être "
                    "dépensé.",
                )
            ),
        ),
    )


def leaked(stage: Stage) -> Table:
    """The error of the average of k fresh answers, and their price."""
    import numpy as np

    say, session = stage.terms.say, stage.people.session("mallory")
    preview = session.preview(QUESTION, epsilon=PRICE)
    (mechanism,), (sensitivity,) = preview.mechanisms, preview.bounded.sensitivities
    noise = mechanism.release(np.zeros(SERIES * TIMES[-1], dtype=np.int64), sensitivity).value
    drawn = noise.reshape(SERIES, TIMES[-1]) / preview.bounded.whole
    rows = []
    for times in TIMES:
        off = np.abs(drawn[:, :times].mean(axis=1))
        bar = 1.96 * float(off.std(ddof=1)) / SERIES**0.5
        rows.append((times, Around(float(off.mean()), bar), times * float(PRICE)))
    return Table(
        (
            say(en="repetitions", fr="répétitions"),
            say(en="mean error of the average (people)", fr="erreur moyenne de la moyenne (personnes)"),
            "ε",
        ),
        tuple(rows),
        caption=say(
            en=f"Plain noise at ε = 0.1 a time; {SERIES} series of each length, 95 % bars",
            fr=f"Bruit simple à ε = 0,1 chaque fois ; {SERIES} séries de chaque longueur, barres à 95 %",
        ),
    )


def killed(stage: Stage) -> tuple[int, int, int]:
    """Answers that came out of a process before it was killed, charges it had made, answers that the ledger keeps."""
    command = [sys.executable, "-c", _VICTIM, str(stage.policy.resolve()), str(stage.home.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as victim:
        assert victim.stdout is not None
        lines = [victim.stdout.readline() for _ in range(KILLED_AFTER)]
        os.kill(victim.pid, signal.SIGKILL)
        lines += victim.stdout.read().splitlines()
    ledger = stage.people.ledger
    ledger.verify()
    history = list(ledger.history())
    keys = {each.body["key"] for each in history if each.kind == "reserve" and each.body["analyst"] == "killed"}
    kept = sum(1 for each in history if each.kind == "commit" and each.body["key"] in keys)
    return sum(1 for line in lines if line.strip()), len(keys), kept
