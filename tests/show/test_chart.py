"""Charts say in words what they draw, in colours that can be told apart, and are drawn without a network."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.show.chart import BLUE, ORANGE, class_sizes, frontier, save
from sfumato.show.text import count, decimal, labelled, percent

POINTS = [
    {"k": 2, "loss": 0.01, "risk": 0.3, "label": "k = 2"},
    {"k": 10, "loss": 0.1, "risk": 0.05, "label": "k = 10"},
]


def test_sizes_are_counted_by_doublings() -> None:
    chart = class_sizes([5, 9, 10, 19, 20, 3], k=5, title="Sizes", size="size", people="people").to_dict()
    bars = {bar["size"]: bar["people"] for bar in next(iter(chart["datasets"].values()))}
    assert bars == {"1–4": 3, "5–9": 14, "10–19": 29, "20–39": 20}
    assert "10–19: 29 (44 %)" in chart["description"]
    assert "k = 5" in chart["title"]


def test_a_frontier_describes_every_point() -> None:
    chart = frontier(POINTS, title="Frontier", loss="loss", risk="risk").to_dict()
    assert "k 2: loss 1.0%, risk 30.0%; k 10: loss 10.0%, risk 5.0%" in chart["description"]


def contrast(one: str, other: str) -> float:
    """WCAG's contrast of two colours."""

    def light(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", [BLUE, ORANGE])
def test_colours_stand_out_from_the_page(colour: str) -> None:
    assert contrast(colour, "#ffffff") >= 3


@pytest.mark.parametrize("ending", ["svg", "png", "json"])
def test_charts_are_saved(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"chart.{ending}"
    save(frontier(POINTS, title="Frontier", loss="loss", risk="risk"), path)
    assert path.stat().st_size > 1000


def test_numbers_as_people_read_them() -> None:
    assert count(30162) == "30\u202f162"
    assert decimal(2.5, lang="fr") == "2,5"
    assert decimal(float("inf")) == "∞"
    assert decimal(123456.7) == "123\u202f457"
    assert percent(0.0154) == "1.5\u202f%"
    assert percent(0.0054, lang="fr") == "0,54\u202f%"
    assert percent(1) == "100\u202f%"
    assert labelled([("a", "one"), ("long", "two")]) == " a     one\n long  two"
