"""A product in one word, as the command line takes it: means:hours/sex"""

from __future__ import annotations

from sfumato.core.errors import BadInput
from sfumato.curator.release.publication import Publication

_SHAPE = "KIND:COLUMNS/KEYS@LEVELS"


def add(publication: Publication, text: str) -> None:
    """Name a product: counts:sex,education; means:hours/sex; histogram:age; quantiles:age/sex@0.1,0.5; marginals:a,b,c."""
    kind, _, rest = text.partition(":")
    rest, _, levels = rest.partition("@")
    columns, keys = _split(rest)
    match kind, columns:
        case "counts", [_, *_]:
            publication.counts(*columns)
        case "means", [one]:
            publication.means(one, by=keys)
        case "histogram", [one]:
            publication.histogram(one, by=keys)
        case "quantiles", [one] if levels:
            publication.quantiles(one, levels.split(","), by=keys)
        case "marginals", [_, _, *_]:
            publication.marginals(columns)
        case "synthetic", [_, *_]:
            publication.synthetic(columns)
        case _:
            raise BadInput(
                f"{text[:60]!r} is no product",
                hint=f"write {_SHAPE}: counts:sex, means:hours/sex, quantiles:age@0.1,0.5",
            )


def _split(text: str) -> tuple[list[str], list[str]]:
    columns, _, keys = text.partition("/")
    return [each for each in columns.split(",") if each], [each for each in keys.split(",") if each]
