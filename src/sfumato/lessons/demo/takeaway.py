"""Scene 5. A release for everyone: files, a chart, a certificate that is signed, and a ledger that verifies."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from sfumato.core.exact import decimal_text
from sfumato.lessons.demo.scene import Scene
from sfumato.lessons.demo.stage import EDITION, PUBLISHED
from sfumato.lessons.lesson import Words
from sfumato.show.sheet import Paragraph
from sfumato.show.text import localised

if TYPE_CHECKING:
    from sfumato.lessons.demo.stage import Stage

DECILES = ("0.1", "0.5", "0.9")

TITLE = Words("Take away", "À emporter")


def act(stage: Stage) -> Scene:
    """Publish, verify, and say what was left."""
    from sfumato.curator.certificate.verify import verify

    say, number = stage.terms.say, stage.terms.number
    folder = stage.folder / PUBLISHED
    with stage.people.publish(epsilon=1, delta="1e-6", name="adult", edition=EDITION, issuer="sfumato demo") as release:
        release.means("hours_per_week", by="education", share=2)
        release.histogram("age")
        release.quantiles("age", DECILES)
        release.save(folder)
    verified = verify(folder / "certificate.json")
    shutil.copyfile(folder / "certificate.json", stage.folder / "certificate.json")
    position = stage.people.ledger.verify()
    spent = localised(decimal_text(stage.people.ledger.totals().spent.amount), stage.lang)
    return Scene(
        stage.title(TITLE),
        (
            Paragraph(
                say(
                    en="A release on one budget (ε = 1): hours by education, ages, and three quantiles of age. Its "
                    f"{verified.files} files (CSV, Parquet, SVG) are in {PUBLISHED}, with a certificate signed by "
                    "this curator. Verified: every byte is as signed.",
                    fr="Une publication sur un seul budget (ε = 1) : heures par diplôme, âges, et trois quantiles de "
                    f"l'âge. Ses {verified.files} fichiers (CSV, Parquet, SVG) sont dans {PUBLISHED}, avec un "
                    "certificat signé par ce curateur. Vérifié : chaque octet est tel que signé.",
                )
            ),
            Paragraph(
                say(
                    en=f"The ledger verifies: {number(position.n)} records, ε = {spent} spent of 6 in all scenes "
                    f"together, head `{position.digest[:16]}`.",
                    fr=f"Le registre se vérifie : {number(position.n)} écritures, ε = {spent} dépensé sur 6 dans "
                    f"toutes les scènes, tête `{position.digest[:16]}`.",
                )
            ),
        ),
    )
