"""The figures of note 004: known values, and measured ones within bounds whose false-alarm rate is stated."""

from __future__ import annotations

from sfumato.core.neighbours import Relation
from sfumato.lessons import sensibilite, voisines


def test_the_distances_of_the_note() -> None:
    found = {name: voisines.histogram(name) for name in voisines.TABLES}
    assert found["D1"] == (1, 2, 1, 0, 1)
    assert [int(voisines.between(found["D1"], found[name]).l1) for name in ("D2", "D3", "D4")] == [4, 1, 3]
    assert voisines.replacements(found["D1"], found["D2"]) == 2
    assert voisines.replacements(found["D1"], found["D3"]) is None


def test_the_product_prints_the_sensitivities_of_the_note() -> None:
    questions = (sensibilite.BLUE, sensibilite.COLOURS, sensibilite.TALL)
    reaches = [sensibilite.both(sql) for sql in questions]
    assert [added.stated.l1 for added, _ in reaches] == [1, 1, 2]
    assert [replaced.stated.l1 for _, replaced in reaches] == [1, 2, 2]
    for pair in reaches:
        assert [each.tried for each in pair] == [each.stated.l1 for each in pair]
    loose = sensibilite.Reach(sensibilite.TWO_SUMS, Relation.ADD_REMOVE)
    assert loose.tried == 1
    assert loose.stated.l1 == 2
