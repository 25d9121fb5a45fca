"""`sfumato doctor`: look at everything a question needs, and say what is wrong and what to do."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from sfumato.apps.cli import options, output
from sfumato.apps.cli.language import Lang
from sfumato.core.errors import BadPolicy, LedgerDamaged, SfumatoError

if TYPE_CHECKING:
    from sfumato.curator.home import Home
    from sfumato.curator.policy import Policy

COLUMNS = ("what", "state", "says")
Finding = tuple[str, str, str, int]
"""What was looked at, `ok` or `note` or `wrong`, what to know about it, and the exit code that it asks for."""


@click.command()
@options.policy
@options.formats("table", "json", "csv")
@options.lang
def command(policy_file: str, form: str, lang: Lang) -> None:
    """Look at the policy, the sources, the home with its keys, the ledger, and every copy of personal data.

    Reads no row. Exits with 5, 6 or 7 when the policy, the ledger or a source is wrong.
    """
    from sfumato.curator.home import Home
    from sfumato.curator.policy import Policy

    home = Home.default()
    findings: list[Finding] = []
    policy: Policy | None = None
    try:
        policy = Policy.load(policy_file)
        findings.append((_word(lang, "policy", "politique"), "ok", policy_file, 0))
        findings += [(_word(lang, "policy", "politique"), "note", str(each), 0) for each in policy.warnings]
    except BadPolicy as error:
        findings.append((_word(lang, "policy", "politique"), "wrong", f"{policy_file}: {error}", 5))
    findings += _home(home, lang)
    if policy is not None:
        findings += _sources(policy, home, lang)
        findings += _ledger(policy, home, lang)
    rows = [{"what": what, "state": state, "says": says} for what, state, says, _ in findings]
    output.records(rows, COLUMNS, form=form)
    sys.exit(next((code for *_, code in findings if code), 0))


def _home(home: Home, lang: Lang) -> Iterator[Finding]:
    what = _word(lang, "home", "dossier")
    if not home.path.is_dir():
        yield what, "note", _word(lang, f"{home.path} is made by init", f"{home.path} sera créé par init"), 0
        return
    for path, wanted in ((home.path, 0o700), (home.key_file, 0o600)):
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & ~wanted:
            says = _word(
                lang, f"others may open {path}: chmod {wanted:o}", f"d'autres peuvent ouvrir {path} : chmod {wanted:o}"
            )
            yield what, "wrong", says, 6
        elif path.exists():
            yield what, "ok", str(path), 0
        else:
            yield what, "note", _word(lang, f"{path} is made by init", f"{path} sera créé par init"), 0
    if home.signing_file.exists():
        open_to_others = stat.S_IMODE(home.signing_file.stat().st_mode) & ~0o600
        says = _word(
            lang,
            f"others may open {home.signing_file}: chmod 600",
            f"d'autres peuvent ouvrir {home.signing_file} : chmod 600",
        )
        yield what, *(("wrong", says, 6) if open_to_others else ("ok", str(home.signing_file), 0))
    for copy in home.copies():
        yield _word(lang, "copy", "copie"), "note", str(copy), 0


def _sources(policy: Policy, home: Home, lang: Lang) -> Iterator[Finding]:
    from sfumato.curator.policy.elsewhere import elsewhere, look_elsewhere
    from sfumato.curator.policy.scan import look
    from sfumato.curator.seen_files import changed

    what = "source"
    try:
        seen, away = look(policy), elsewhere(policy)
        problems = (*seen.problems, *look_elsewhere(policy))
    except SfumatoError as error:
        yield what, "wrong", str(error), 7
        return
    for problem in problems:
        yield what, "wrong", str(problem), 5
    for table, rules in policy.document.tables.items():
        if stops := changed(policy, home, [table]):
            yield what, "wrong", str(stops[0]), 5
        elif table not in seen.unseen or (table in away and not problems):
            yield what, "ok", f"{table}: {rules.source}", 0
        elif table in away:
            said = (f"{table}: {rules.source} was looked at", f"{table} : {rules.source} a été examinée")
            yield what, "note", _word(lang, *said), 0
        elif rules.source is None:
            yield what, "note", _word(lang, f"{table}: given in memory", f"{table} : donnée en mémoire"), 0
        else:
            says = _word(lang, f"{table}: {rules.source} was not found", f"{table} : {rules.source} introuvable")
            yield what, "wrong", says, 7


def _ledger(policy: Policy, home: Home, lang: Lang) -> Iterator[Finding]:
    what = _word(lang, "ledger", "registre")
    try:
        ledger = policy.ledger(home)
        position, totals = ledger.verify(), ledger.totals()
    except LedgerDamaged as damage:
        yield what, "wrong", str(damage), 6
        return
    yield what, "ok", _word(lang, f"{position.n} records verified", f"{position.n} inscriptions vérifiées"), 0
    if totals.policy != policy.digest:
        said = "the policy has changed since; the next question writes it down", "la politique a changé depuis"
        yield what, "note", _word(lang, *said), 0
    caps = policy.caps()
    if caps.raises(totals.caps) or caps.about_others(totals.caps):
        said = (
            "SF017 the policy raises a cap: `sfumato policy accept`",
            "SF017 un plafond monte : `sfumato policy accept`",
        )
        yield what, "wrong", _word(lang, *said), 5
    for name in totals.frozen:
        yield what, "note", _word(lang, f"frozen: {name}", f"gelé : {name}"), 0


def _word(lang: Lang, en: str, fr: str) -> str:
    return fr if lang == "fr" else en
