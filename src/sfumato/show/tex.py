"""A sheet as a LaTeX document; its pictures are PDF files beside it."""

from __future__ import annotations

import re
from typing import assert_never

from sfumato.show.picture import Picture, Slides
from sfumato.show.sheet import Block, Code, Folded, Formula, Heading, Paragraph, Sheet, Table, numeric, spelled

_HEAD = r"""\documentclass[11pt,a4paper]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{lmodern,amsmath,amssymb,graphicx,textcomp}
\usepackage[%s]{babel}
\setlength{\parindent}{0pt}\setlength{\parskip}{.6em}
\begin{document}
"""

_SIGNS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "\u2009": r"\,",
    "\u202f": r"\,",
    "\u00a0": "~",
    "\u2032": r"$'$",
    "\u2212": "$-$",
    "½": r"$\tfrac12$",
    "²": r"\textsuperscript{2}",
    "³": r"\textsuperscript{3}",
    "⁵": r"\textsuperscript{5}",
    "⁻": r"\textsuperscript{-}",
    "→": r"$\to$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "≈": r"$\approx$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "∞": r"$\infty$",
    "∈": r"$\in$",
    "∑": r"$\sum$",
    "√": r"$\surd$",
    "|": r"\textbar{}",
    "«": r"\guillemotleft{}",
    "»": r"\guillemotright{}",
    "“": "``",
    "”": "''",
    "’": "'",
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "▪": "",
}
_GREEK = {
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "δ": "delta",
    "ε": "varepsilon",
    "η": "eta",
    "θ": "theta",
    "λ": "lambda",
    "μ": "mu",
    "ν": "nu",
    "ξ": "xi",
    "π": "pi",
    "ρ": "rho",
    "σ": "sigma",
    "τ": "tau",
    "φ": "varphi",
    "χ": "chi",
    "ψ": "psi",
    "ω": "omega",
    "Δ": "Delta",
    "Σ": "Sigma",
    "Φ": "Phi",
}
_SIGNS |= {letter: rf"$\{name}$" for letter, name in _GREEK.items()}
_SPECIAL = re.compile("|".join(map(re.escape, _SIGNS)))


def tex(sheet: Sheet, *, name: str) -> tuple[str, dict[str, Picture]]:
    """The document, and its pictures by the names of their files, which begin with `name`."""
    pictures: dict[str, Picture] = {}
    lines = [_HEAD % ("french" if sheet.lang == "fr" else "english")]
    if sheet.stamp:
        lines.append(rf"\fbox{{\textbf{{{escaped(sheet.stamp)}}}}}" + "\n")
    lines.append(rf"{{\LARGE {escaped(sheet.title)}}}\par" + "\n")
    lines.append(rf"{{\small {escaped(sheet.subtitle)}}}\par" + "\n")
    for block in sheet.blocks:
        lines.append(_block(block, sheet, name, pictures))
    lines.append(rf"\vfill{{\footnotesize {escaped(sheet.source)}}}" + "\n" + r"\end{document}" + "\n")
    return "\n".join(lines), pictures


def escaped(text: str) -> str:
    """Text with the signs that LaTeX reads as its own."""
    return _SPECIAL.sub(lambda found: _SIGNS[found.group()], text)


def _prose(text: str) -> str:
    """A paragraph: `code` between backticks, and one-letter indices (f_i)."""
    parts = text.split("`")
    spoken = [re.sub(r"\\_(\w)\b", r"$_{\1}$", escaped(part)) for part in parts[::2]]
    coded = [rf"\texttt{{{escaped(part)}}}" for part in parts[1::2]]
    return "".join(one + other for one, other in zip(spoken, [*coded, ""], strict=True))


def _block(block: Block, sheet: Sheet, name: str, pictures: dict[str, Picture]) -> str:
    match block:
        case Heading(text):
            return rf"\section*{{{escaped(text)}}}" + "\n"
        case Paragraph(text):
            return _prose(text) + "\n"
        case Formula(latex, _):
            return "\\[\n" + latex + "\n\\]\n"
        case Table():
            return _table(block, sheet)
        case Slides():
            file = f"{name}-{len(pictures) + 1}.pdf"
            pictures[file] = block.shown
            width = r"\includegraphics[width=.9\linewidth]"
            return (
                "\\begin{center}\n" + rf"{width}{{{file}}}\par\small {escaped(block.shown.bars)}" + "\n\\end{center}\n"
            )
        case Code():
            return ""
        case Folded(heading, blocks):
            return "\n".join(_block(each, sheet, name, pictures) for each in (Heading(heading), *blocks))
        case _:
            assert_never(block)


def _table(table: Table, sheet: Sheet) -> str:
    kinds = "".join("r" if numeric(table, i) else "l" for i in range(len(table.columns)))
    rows = [[spelled(cell, lang=sheet.lang, digits=table.digits) for cell in row] for row in table.rows]
    head, *body = (" & ".join(map(escaped, line)) + r" \\" for line in [list(table.columns), *rows])
    caption = escaped(table.caption) + r"\\[.4em]" + "\n" if table.caption else ""
    inner = "\n".join([r"\hline", head, r"\hline", *body, r"\hline"])
    return f"\\begin{{center}}\\small\n{caption}\\begin{{tabular}}{{{kinds}}}\n{inner}\n\\end{{tabular}}\n\\end{{center}}\n"
