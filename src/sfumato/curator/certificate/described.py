"""A released question as its certificate tells it: domain, clipping, noise, proof, accuracy. Texts and whole numbers only."""

from __future__ import annotations

import inspect
import re
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from sfumato.accounting import Loss
from sfumato.core.canonical import digest
from sfumato.core.exact import decimal_text
from sfumato.core.sensitivity import Sensitivity
from sfumato.curator.answer import Answer
from sfumato.curator.preview import Preview
from sfumato.mechanisms import Mechanism
from sfumato.queries.answer import Estimate, Estimates
from sfumato.queries.expression import fields
from sfumato.queries.missing import missing_of
from sfumato.queries.plan import Rowwise, tables_of
from sfumato.queries.rows import declared_of

_LONG = 300


def described(preview: Preview, answer: Answer) -> dict[str, Any]:
    """What is public about a question, and how precise its answer is."""
    bounded = preview.bounded
    tally = bounded.tally
    missing = {name: list(columns) for name, columns in asdict(missing_of(tally)).items()}
    return {
        "rows_of": list(tables_of(tally)),
        "counted": preview.counted,
        "keys": domain(preview),
        "clipping": clipping(preview),
        "missing": missing,
        "noise": [
            noise(mechanism, sensitivity, loss) | {"cells_per_row": str(_whole(statistic, bounded.whole))}
            for mechanism, sensitivity, loss, statistic in zip(
                preview.mechanisms, bounded.sensitivities, preview.losses, tally.statistics, strict=True
            )
        ],
        "accuracy": accuracy(answer),
        "ranks": {
            name: {"quantiles": each["quantiles"], "rows": decimal_text(Fraction(each["rows"]))}
            for name, each in answer.ranks.items()
        },
    }


def _whole(statistic: Any, whole: int) -> int:
    """What one row of full weight adds to a cell at most: noise in rows is noise in cells divided by it."""
    return whole * statistic.top if isinstance(statistic, Rowwise) else whole


def domain(preview: Preview) -> list[dict[str, Any]]:
    """The keys of the groups: how many public values each has, or from how many units on a private one is told."""
    declared = declared_of(preview.bounded.tally.child)
    found = []
    for key in preview.bounded.tally.keys:
        columns = sorted({declared[name].name for name in fields(key.of) if name in declared})
        told = {"of": columns, "null": None in key.values}
        if key.private:
            lines = [str(each.threshold) for each in preview.mechanisms if hasattr(each, "threshold")]
            found.append(told | {"keys": "threshold", "values": 0, "threshold": lines[0]})
        else:
            found.append(told | {"keys": "public", "values": len(key.values)})
    return found


def clipping(preview: Preview) -> list[dict[str, Any]]:
    """The public ranges that measured columns were moved into."""
    declared = declared_of(preview.bounded.tally.child)
    return [
        {
            "of": sorted({declared[name].name for name in fields(statistic.of) if name in declared}),
            "low": decimal_text(statistic.low, rounding="down"),
            "high": decimal_text(statistic.high),
            "step": decimal_text(statistic.step),
        }
        for statistic in preview.bounded.tally.statistics
        if isinstance(statistic, Rowwise) and statistic.of is not None and statistic.kind != "present"
    ]


def noise(mechanism: Mechanism[Any, Any], sensitivity: Sensitivity, loss: Loss) -> dict[str, Any]:
    """A mechanism: its name and parameters, the law of its noise, how far one unit reaches, what proves the promise."""
    described = mechanism.describe()
    law, proof = said_of(type(mechanism))
    return {
        "mechanism": described["mechanism"],
        "parameters": {name: _short(value) for name, value in described.items() if name != "mechanism"},
        "law": law,
        "granularity": _granularity(described),
        "sensitivity": {
            "l1": str(sensitivity.l1),
            "linf": str(sensitivity.linf),
            "l2_squared": str(sensitivity.l2_squared),
        },
        "loss": dict(loss.describe()),
        "proof": proof,
    }


def _short(value: str) -> str:
    """A parameter as it is; a long one, such as a matrix, by its digest: it is public and follows from the others."""
    return value if len(value) <= _LONG else f"sha256 {digest(value)}"


def _granularity(described: dict[str, str]) -> str:
    grain = described.get("grain", "0")
    return "whole cells" if grain in {"0", "None", "1"} else f"multiples of {grain}"


def said_of(kind: type) -> tuple[str, str]:
    """The law of a mechanism, and its proof with whom it is due to: the docstring says both, and nothing else does."""
    paragraphs = re.split(r"\n\s*\n", inspect.getdoc(kind) or "")
    proof = next((text.removeprefix("Proof:") for text in paragraphs if text.startswith("Proof:")), "")
    return _line(paragraphs[0]), _line(proof)


def _line(text: str) -> str:
    return " ".join(text.split())


def _estimates(cell: Any) -> tuple[Estimate, ...]:
    match cell:
        case Estimates():
            return tuple(each for each in cell.each if isinstance(each, Estimate))
        case Estimate():
            return (cell,)
        case _:
            return ()


def accuracy(answer: Answer) -> list[dict[str, str]]:
    """How far a released number is from the exact one, with the policy's confidence; noise only, column by column."""
    preview = answer.preview
    found = []
    for name in answer.measured:
        place = answer.columns.index(name)
        bars = [each.within for row in answer.result.rows for each in _estimates(row[place])]
        known = [Fraction(bar) for bar in bars if bar is not None]
        if known:
            found.append(
                {
                    "column": name,
                    "least": decimal_text(min(known)),
                    "most": decimal_text(max(known)),
                    "confidence": decimal_text(preview.confidence, rounding="down"),
                }
            )
    return found
