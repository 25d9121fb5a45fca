"""What going from one policy to another does to people's protection, in words, the most important first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import Any, Literal, final

from sfumato.core.exact import decimal_text
from sfumato.curator.policy.places import KeyPath
from sfumato.curator.policy.policy import Policy
from sfumato.curator.policy.problem import section

Lang = Literal["en", "fr"]
Leaves = dict[KeyPath, Any]


class Effect(Enum):
    """What a change does to the people in the rows; in the order in which an owner should read."""

    WEAKER = ("weaker", "affaibli")
    """The promise itself covers less, or less well."""
    WIDER = ("wider", "élargi")
    """More of them reaches answers; the promise holds, because noise and prices follow."""
    SAME = ("same", "neutre")
    NARROWER = ("narrower", "resserré")
    STRONGER = ("stronger", "renforcé")

    def word(self, lang: Lang) -> str:
        en, fr = self.value
        return fr if lang == "fr" else en


@final
@dataclass(frozen=True, slots=True)
class Change:
    """One change, where it stands, and what it means. Within one effect, a larger weight is told first."""

    effect: Effect
    weight: int
    place: str
    en: str
    fr: str

    def says(self, lang: Lang) -> str:
        return self.fr if lang == "fr" else self.en


def changes(old: Policy, new: Policy) -> list[Change]:
    """Every difference, each said once. Nothing that differs is left out: what has no words of its own is named."""
    before, after = _leaves(old), _leaves(new)
    had, has = _containers(before), _containers(after)
    whole = {path for path in had ^ has if len(path) == 2 or path[:2] in had & has}
    said = [_appeared(path, new) if path in has else _vanished(path) for path in whole]
    for path in sorted({*before, *after}, key=str):
        inside = any(path[: len(each)] == each for each in whole)
        if inside or before.get(path) == after.get(path):
            continue
        if path[-1] != "tree" or _moved(before.get(path), after.get(path)):
            said.append(_changed(path, before.get(path), after.get(path), old, new))
    order = list(Effect)
    return sorted(said, key=lambda change: (order.index(change.effect), -change.weight, change.place))


def _moved(before: Any, after: Any) -> list[Any]:
    """The keys that are on both public lists, under other levels."""
    return [key for key in before or {} if key in (after or {}) and before[key] != after[key]]


def _leaves(policy: Policy) -> Leaves:
    """Every key that can be written, with its value or default; a public list in a file stands for its keys."""
    leaves = dict(_walk(policy.document, ()))
    for (table, column), listed in policy.lists.items():
        leaves["tables", table, "columns", column, "values"] = listed.keys
        leaves["tables", table, "columns", column, "tree"] = dict(zip(listed.keys, listed.levels, strict=True))
    return leaves


def _walk(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _walk(item, (*path, key))
    elif hasattr(type(value), "model_fields"):
        for key in type(value).model_fields:
            yield from _walk(getattr(value, key), (*path, key))
    else:
        yield path, value


def _containers(leaves: Leaves) -> set[KeyPath]:
    """The tables and the columns."""
    tables = {path[:2] for path in leaves if path[0] == "tables"}
    return tables | {path[:4] for path in leaves if path[0] == "tables" and len(path) > 4}


def _appeared(path: KeyPath, new: Policy) -> Change:
    name = path[-1]
    if len(path) == 2 and new.document.tables[str(name)].public:
        en, fr = (
            f"table {name} is new, and public: nothing protects its rows",
            f"table {name} nouvelle et publique : rien n'en protège les lignes",
        )
        return Change(Effect.WIDER, 60, section(path), en, fr)
    if len(path) == 2:
        en, fr = (
            f"table {name} may be asked; it spends from the same budget",
            f"la table {name} peut être interrogée, sur le même budget",
        )
        return Change(Effect.WIDER, 55, section(path), en, fr)
    en = f"column {name} of {path[1]} is no longer hidden: questions may name it, on the same budget"
    fr = f"la colonne {name} de {path[1]} n'est plus cachée : on peut la nommer, sur le même budget"
    return Change(Effect.WIDER, 50, section(path), en, fr)


def _vanished(path: KeyPath) -> Change:
    name = path[-1]
    if len(path) == 2:
        en, fr = f"table {name} can no longer be asked", f"la table {name} ne peut plus être interrogée"
        return Change(Effect.NARROWER, 55, section(path), en, fr)
    en, fr = f"column {name} of {path[1]} is hidden now", f"la colonne {name} de {path[1]} est maintenant cachée"
    return Change(Effect.NARROWER, 50, section(path), en, fr)


def _changed(path: KeyPath, before: Any, after: Any, old: Policy, new: Policy) -> Change:
    place = f"{path[-1]} {section(path[:-1])}"
    match path:
        case ("dataset", "id"):
            return Change(
                Effect.WEAKER,
                100,
                place,
                "this is another data set: it begins with an empty ledger, and what these people have already lost is "
                "forgotten",
                "c'est un autre jeu de données : son registre est vide, et ce que ces personnes ont déjà perdu est "
                "oublié",
            )
        case ("unit", *_):
            return _unit(str(path[-1]), place, before, after)
        case ("budget", "per_analyst", name):
            return _analyst(str(name), place, _cap(old, str(name)), _cap(new, str(name)))
        case ("budget", *_):
            return _budget(str(path[-1]), place, before, after)
        case ("tables", table, "columns", column, key):
            return _column(str(key), place, f"{table}.{column}", before, after)
        case ("tables", table, key):
            return _table(str(key), place, str(table), before, after, new)
        case _:
            return _rest(path, place, before, after)


def _unit(key: str, place: str, before: Any, after: Any) -> Change:
    match key:
        case "kind":
            sizes = ("row", "device", "person", "household")
            smaller = sizes.index(after) < sizes.index(before)
            return Change(
                Effect.WEAKER if smaller else Effect.STRONGER,
                98,
                place,
                f"what is protected is each {after}, before each {before}"
                + (": someone with several of them is protected less" if smaller else ""),
                f"ce qui est protégé est chaque {_FRENCH[after]}, avant chaque {_FRENCH[before]}"
                + (" : qui en a plusieurs est moins protégé" if smaller else ""),
            )
        case "neighbours" if after == "replace":
            return Change(
                Effect.WEAKER,
                96,
                place,
                "neighbours replace one unit instead of adding or removing it: how many there are becomes public, and "
                "being among the rows is no longer protected",
                "les voisins remplacent une unité au lieu de l'ajouter ou de l'ôter : leur nombre devient public, et le "
                "fait d'y figurer n'est plus protégé",
            )
        case "neighbours":
            return Change(
                Effect.WEAKER,
                96,
                place,
                "neighbours add or remove one unit instead of replacing it: being among the rows is protected, and "
                "what someone's rows say is protected half as well at the same epsilon",
                "les voisins ajoutent ou ôtent une unité au lieu de la remplacer : y figurer est protégé, et le contenu "
                "des lignes l'est deux fois moins à epsilon égal",
            )
        case "max_rows":
            more = after > before
            return Change(
                Effect.WIDER if more else Effect.NARROWER,
                45,
                place,
                f"at most {after} rows of each unit count, before {before}: noise "
                + ("grows as much, and epsilon protects as before" if more else "shrinks as much"),
                f"au plus {after} lignes de chaque unité comptent, avant {before} : le bruit "
                + ("grandit d'autant, et epsilon protège comme avant" if more else "diminue d'autant"),
            )
        case "max_groups":
            more = (after or 1) > (before or 1)
            return Change(
                Effect.WIDER if more else Effect.NARROWER,
                44,
                place,
                f"a unit may appear in {after or 1} private groups, before {before or 1}",
                f"une unité peut figurer dans {after or 1} groupes privés, avant {before or 1}",
            )
        case "max_rows_is_fact":
            en = "answers will call themselves numbers of rows" if after else "answers say that they count bounded rows"
            fr = (
                "les réponses se diront nombres de lignes"
                if after
                else "les réponses disent que les lignes sont bornées"
            )
            return Change(Effect.SAME, 20, place, en, fr)
        case _:
            return _plainly(place, before, after)


def _budget(key: str, place: str, before: Any, after: Any) -> Change:
    match key:
        case "epsilon":
            more = after > before
            return Change(
                Effect.WEAKER if more else Effect.STRONGER,
                90,
                place,
                f"the budget of all answers {'rises' if more else 'falls'} from {_n(before)} to {_n(after)}: a guess about "
                f"someone right with 50 % could become right with {_guess(after)}, before {_guess(before)}",
                f"le budget de toutes les réponses {'monte' if more else 'descend'} de {_n(before)} à {_n(after)} : une "
                f"supposition juste à 50 % pourrait devenir juste à {_guess(after)}, avant {_guess(before)}",
            )
        case "delta":
            more = after > before
            return Change(
                Effect.WEAKER if more else Effect.STRONGER,
                85,
                place,
                f"the promise may fail with probability {_n(after)}, before {_n(before)}",
                f"la promesse peut faillir avec probabilité {_n(after)}, avant {_n(before)}",
            )
        case "accountant":
            zcdp = after == "zcdp"
            return Change(
                Effect.WEAKER if zcdp else Effect.STRONGER,
                88,
                place,
                "costs add up by zcdp: more questions fit, and the promise is epsilon with all of delta"
                if zcdp
                else "costs add up as epsilon: fewer questions fit",
                "les coûts s'ajoutent par zcdp : plus de questions tiennent, et la promesse est epsilon avec tout delta"
                if zcdp
                else "les coûts s'ajoutent en epsilon : moins de questions tiennent",
            )
        case _:
            return _plainly(place, before, after)


def _cap(policy: Policy, name: str) -> Fraction:
    caps = policy.document.budget.per_analyst
    return min(caps.get(name, caps.get("default", policy.document.budget.epsilon)), policy.document.budget.epsilon)


def _analyst(name: str, place: str, before: Fraction, after: Fraction) -> Change:
    effect = Effect.WEAKER if after > before else Effect.STRONGER if after < before else Effect.SAME
    en, fr = ("anyone else", "tout autre") if name == "default" else (name, name)
    return Change(
        effect,
        80,
        place,
        f"{en} may spend {_n(after)}, before {_n(before)}",
        f"{fr} peut dépenser {_n(after)}, avant {_n(before)}",
    )


def _table(key: str, place: str, table: str, before: Any, after: Any, new: Policy) -> Change:
    match key:
        case "public" if after:
            return Change(
                Effect.WEAKER,
                99,
                place,
                f"table {table} becomes public: nothing protects its rows any more",
                f"la table {table} devient publique : rien ne protège plus ses lignes",
            )
        case "public":
            return Change(
                Effect.STRONGER,
                99,
                place,
                f"table {table} is no longer public: its rows are protected",
                f"la table {table} n'est plus publique : ses lignes sont protégées",
            )
        case "unit" if before is None and not new.document.tables[table].public:
            return Change(
                Effect.STRONGER,
                97,
                place,
                f"rows of {table} are protected together when they have the same {after}, before one by one",
                f"les lignes de {table} de même {after} sont protégées ensemble, avant une à une",
            )
        case "unit":
            return Change(
                Effect.WEAKER,
                97,
                place,
                f"rows of {table} belong to their {after or 'own selves'}, before to their {before}: what was spent was about "
                "others",
                f"les lignes de {table} appartiennent à leur {after or 'seule personne'}, avant à leur {before} : ce qui a été "
                "dépensé concernait d'autres",
            )
        case "unique":
            gained = set(after) - set(before)
            return Change(
                Effect.WIDER if gained else Effect.NARROWER,
                30,
                place,
                f"table {table} may be joined on {_words(after) or 'no column'}, before {_words(before) or 'no column'}",
                f"la table {table} peut être jointe sur {_words(after) or 'rien'}, avant {_words(before) or 'rien'}",
            )
        case "source":
            return Change(
                Effect.SAME,
                35,
                place,
                f"the rows of {table} come from elsewhere: declare a version, and mind that the budget goes on",
                f"les lignes de {table} viennent d'ailleurs : déclarer une version, le budget continue",
            )
        case _:
            return _plainly(place, before, after)


def _column(key: str, place: str, name: str, before: Any, after: Any) -> Change:
    match key:
        case "range":
            return _range(place, name, before, after)
        case "values":
            return _values(place, name, before, after)
        case "null":
            wider = after == "group" or before == "refuse"
            return Change(
                Effect.WIDER if wider else Effect.NARROWER,
                32,
                place,
                f"missing values of {name}: {after}, before {before}",
                f"valeurs manquantes de {name} : {after}, avant {before}",
            )
        case "tree":
            moved = _moved(before, after)
            return Change(
                Effect.SAME,
                24,
                place,
                f"{len(moved)} keys of {name} stand under other levels",
                f"{len(moved)} valeurs de {name} sont sous d'autres niveaux",
            )
        case "ordered" | "levels":
            more = bool(after) and not (key == "levels" and set(after) <= set(before))
            return Change(
                Effect.WIDER if more else Effect.NARROWER,
                25,
                place,
                f"{key} of {name}: {_words(after)}, before {_words(before)}",
                f"{key} de {name} : {_words(after)}, avant {_words(before)}",
            )
        case "grain":
            finer = after is None or (before is not None and after < before)
            return Change(
                Effect.WIDER if finer else Effect.NARROWER,
                22,
                place,
                f"{name} is kept to a multiple of {_words(after) or 'the default'}, before {_words(before) or 'the default'}",
                f"{name} est gardé au multiple de {_words(after) or 'défaut'}, avant {_words(before) or 'défaut'}",
            )
        case "type":
            return Change(
                Effect.WIDER,
                40,
                place,
                f"{name} is read as {after or 'what its keys are'}, before as {before or 'what its keys were'}",
                f"{name} est lu comme {after or 'ce que sont ses valeurs'}, avant {before or 'ce qu’étaient ses valeurs'}",
            )
        case _:
            return _plainly(place, before, after)


def _range(place: str, name: str, before: Any, after: Any) -> Change:
    if before is None:
        en = f"{name} has a range, {_words(after)}: it may be summed and averaged"
        fr = f"{name} a des bornes, {_words(after)} : on peut en faire sommes et moyennes"
        return Change(Effect.WIDER, 43, place, en, fr)
    if after is None:
        en, fr = (
            f"{name} has no range any more: no sums, no averages",
            f"{name} n'a plus de bornes : ni sommes ni moyennes",
        )
        return Change(Effect.NARROWER, 43, place, en, fr)
    wider = type(after[0]) is not type(before[0]) or after[0] < before[0] or after[1] > before[1]
    return Change(
        Effect.WIDER if wider else Effect.NARROWER,
        42,
        place,
        f"the range of {name} is {_words(after)}, before {_words(before)}: "
        + (
            "more extreme values count in full; noise grows as much, and epsilon protects as before"
            if wider
            else "extreme values count for less"
        ),
        f"les bornes de {name} sont {_words(after)}, avant {_words(before)} : "
        + (
            "des valeurs plus extrêmes comptent ; le bruit grandit d'autant, et epsilon protège comme avant"
            if wider
            else "les valeurs extrêmes comptent moins"
        ),
    )


def _values(place: str, name: str, before: Any, after: Any) -> Change:
    if after == "private":
        en = f"the groups of {name} are private: any value that enough units share may be shown, paid for with delta"
        fr = f"les groupes de {name} sont privés : toute valeur assez partagée peut être montrée, payée en delta"
        return Change(Effect.WIDER, 48, place, en, fr)
    if after is None:
        en, fr = f"{name} can no longer be grouped by", f"on ne peut plus grouper par {name}"
        return Change(Effect.NARROWER, 41, place, en, fr)
    if before is None:
        en, fr = f"{name} may be grouped by a public list", f"on peut grouper par {name}, selon une liste publique"
        return Change(Effect.WIDER, 41, place, en, fr)
    if before == "private":
        en, fr = (
            f"the groups of {name} are a public list, before private",
            f"les groupes de {name} sont une liste publique, avant privés",
        )
        return Change(Effect.NARROWER, 48, place, en, fr)
    gained, lost = set(after) - set(before), set(before) - set(after)
    en = f"the public list of {name} gains {len(gained)} and loses {len(lost)}"
    fr = f"la liste publique de {name} gagne {len(gained)} et perd {len(lost)}"
    return Change(Effect.WIDER if gained else Effect.NARROWER if lost else Effect.SAME, 31, place, en, fr)


def _rest(path: KeyPath, place: str, before: Any, after: Any) -> Change:
    match path:
        case ("dataset", "version"):
            return Change(
                Effect.SAME,
                70,
                place,
                f"the rows are version {after}, before {before}: questions may be asked anew and are paid for anew",
                f"les lignes sont la version {after}, avant {before} : on peut redemander, et on paie à nouveau",
            )
        case ("ledger", *_):
            return Change(
                Effect.SAME,
                75,
                place,
                "the ledger is looked for elsewhere: bring it along; an empty one would forget what was spent",
                "le registre est cherché ailleurs : l'emporter ; un registre vide oublierait ce qui a été dépensé",
            )
        case _:
            return _plainly(place, before, after)


def _plainly(place: str, before: Any, after: Any) -> Change:
    return Change(
        Effect.SAME,
        10,
        place,
        f"{place}: {_words(after) or 'nothing'}, before {_words(before) or 'nothing'}",
        f"{place} : {_words(after) or 'rien'}, avant {_words(before) or 'rien'}",
    )


_FRENCH = {"person": "personne", "household": "foyer", "device": "appareil", "row": "ligne"}


def _n(value: Fraction) -> str:
    return decimal_text(value)


def _guess(epsilon: Fraction) -> str:
    """What a guess of one half can become, e^epsilon / (1 + e^epsilon), rounded up."""
    right = 1 / (1 + math.exp(-min(float(epsilon), 700)))
    return f"{math.ceil(10_000 * right) / 100:g} %"


def _words(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case Fraction():
            return _n(value)
        case date():
            return value.isoformat()
        case tuple():
            return ", ".join(_words(each) or "''" for each in value)
        case _:
            return str(value)
