"""Which mechanism when several are possible: who wins where, that all keep the promise, bad input, the command."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from sfumato.accounting import keeps
from sfumato.apps.cli import cli
from sfumato.core import BadInput, Neighbours, Sensitivity
from sfumato.mechanisms.which import Advice, Choice, Queries, Running, Scalar, Stream, which
from sfumato.noise import system_source

SMALL = Fraction(1, 100_000)


@cache
def asked(question: Any, **promise: Any) -> Advice:
    """Bounded noise takes about a second to calibrate: the same question is asked once."""
    return which(question, epsilon=1, **promise)


def names(question: Any, **promise: Any) -> list[str]:
    return [option.name for option in asked(question, **promise).options]


def test_one_number() -> None:
    assert names(Scalar()) == ["Laplace", "Staircase"]
    assert names(Scalar(), delta=SMALL, confidence="0.999999")[0] == "TruncatedLaplace"


def test_many_numbers_are_for_noise_that_grows_with_their_root() -> None:
    assert names(Queries(2))[0] == "Laplace"
    assert names(Queries(1000), delta=SMALL)[:2] == ["BoundedNoise", "Gaussian"]


@pytest.mark.slow
def test_ten_numbers_are_for_the_gaussian() -> None:
    assert names(Queries(10), delta=SMALL)[0] == "Gaussian"


def test_a_limit_beats_the_largest_of_many_gaussian_errors_from_about_a_thousand_on() -> None:
    """The limit that no error exceeds, beside what the largest of the Gaussian errors stays within at 0.95."""
    for count, better in ((200, False), (1000, True)):
        found = {option.name: option for option in asked(Queries(count), delta=SMALL).options}
        limit = found["BoundedNoise"].limit
        assert limit is not None
        assert (limit < found["Gaussian"].within) is better


def test_a_choice() -> None:
    assert names(Choice(20)) == ["PermuteAndFlip", "NoisyMax", "Exponential"]
    assert names(Choice(20, 5)) == ["TopK"]


def test_scores_are_monotone_only_where_units_come_or_go() -> None:
    """A replaced unit takes one count down and another up: half the price would be a lie."""
    added = which(Choice(20, monotone=True), epsilon=1)
    replaced = which(Choice(20, monotone=True), epsilon=1, neighbours=Neighbours.REPLACE)
    assert added.best.within < 0.6 * replaced.best.within
    assert replaced.best.mechanism.loss(Sensitivity.of(1, about=Neighbours.REPLACE)).epsilon() == 1
    assert replaced.best.mechanism == which(Choice(20), epsilon=1).best.mechanism


def test_a_stream_is_told_apart_for_one_price() -> None:
    assert names(Stream(1000))[:2] == ["AboveThreshold", "Laplace"]
    assert names(Stream(1000, 10), delta=SMALL)[0] == "SparseVector"
    assert names(Stream(1000, 1000), delta=SMALL)[0] != "SparseVector"


@pytest.mark.slow
@pytest.mark.parametrize("question", [Scalar(), Queries(500), Choice(8), Choice(8, 3, monotone=True), Stream(500)])
@pytest.mark.parametrize("relation", [Neighbours.ADD_REMOVE, Neighbours.REPLACE])
def test_every_option_keeps_the_promise(question: Any, relation: Neighbours) -> None:
    advice = which(question, epsilon="0.7", delta=SMALL, sensitivity=2, neighbours=relation)
    count = {Queries: 500, Stream: 500}.get(type(question), 1)
    for option in advice.options:
        several = option.name in {"Laplace", "Gaussian", "TruncatedLaplace", "Staircase"}
        moved = Sensitivity.of_cells(count if several else 1, 2, about=relation)
        loss = option.mechanism.loss(moved)
        assert loss.about == relation
        assert keeps(loss, Fraction(7, 10), SMALL), option


def test_sums_so_far() -> None:
    assert names(Running(1000))[:2] == ["RunningCount", "Laplace"]
    assert names(Running(1000), delta=SMALL)[0] == "FactoredCount"


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 200])
def test_the_largest_of_many_errors_stays_within(count: int) -> None:
    """20 000 rounds at confidence 0.9; covering less than 0.885 has probability below 1e-11, as has covering 1 per cent too
    much: whole numbers cover a little more than asked, 0.05 at most at these scales."""
    for option in which(Queries(count), epsilon=1, delta=SMALL, confidence="0.9").options:
        if option.name == "BoundedNoise":
            continue
        noise = option.mechanism.sample(np.zeros((20_000, count), dtype=np.int64), system_source())
        covered = float((np.abs(noise).max(axis=1) <= option.within).mean())
        assert covered > 0.885, option
        assert covered < 0.965, option


@pytest.mark.parametrize(
    "question", [Scalar(), Choice(20), Choice(20, 3), pytest.param(Stream(500), marks=pytest.mark.slow)]
)
def test_numbers_that_move_by_a_fraction_are_put_on_a_grid(question: Any) -> None:
    """Errors scale with the sensitivity, but for rounding and for the grains that floored numbers move further."""
    whole = which(question, epsilon=1, delta=SMALL, sensitivity=1)
    part = which(question, epsilon=1, delta=SMALL, sensitivity="0.3")
    assert {option.name for option in part.options} == {option.name for option in whole.options}
    errors = {option.name: option.within for option in whole.options}
    for option in part.options:
        assert 0.2 * errors[option.name] < option.within < 0.35 * errors[option.name] + 0.01, option
    loss = part.best.mechanism.loss(Sensitivity.of("0.3"))
    assert keeps(loss, Fraction(1), SMALL)


def test_what_is_no_option_says_why() -> None:
    refused = dict(which(Scalar(), epsilon=1).refused)
    assert "delta 0" in refused["Gaussian"]
    text = str(asked(Queries(1000), delta=SMALL))
    assert "BoundedNoise: the largest of many Gaussian errors grows with their number" in text
    assert "and none is ever above" in text
    assert "times the error" in text


@pytest.mark.parametrize(
    ("question", "promise"),
    [
        (Queries(0), {}),
        (Queries(True), {}),
        (Choice(0), {}),
        (Choice(3, 0), {}),
        (Choice(3, 4), {}),
        (Stream(10, 0), {}),
        (Running(0), {}),
        (Scalar(), {"epsilon": 0}),
        (Scalar(), {"delta": 1}),
        (Scalar(), {"sensitivity": 0}),
        (Scalar(), {"confidence": 1}),
        (Scalar(), {"epsilon": "much"}),
    ],
)
def test_senseless_questions_are_refused(question: Any, promise: dict[str, Any]) -> None:
    with pytest.raises(BadInput) as caught:
        which(question, **{"epsilon": 1, **promise})
    assert caught.value.hint


def test_the_command() -> None:
    run = CliRunner().invoke(cli, ["which", "running", "64", "--epsilon", "1", "--format", "json"])
    assert run.exit_code == 0, run.output
    rows = json.loads(run.stdout)
    assert rows[0]["mechanism"] == "RunningCount"
    assert float(rows[1]["within"]) > float(rows[0]["within"])
    assert "Laplace is the next" in run.stderr


def test_the_command_needs_a_number() -> None:
    run = CliRunner().invoke(cli, ["which", "choice", "--epsilon", "1"])
    assert isinstance(run.exception, BadInput)
    assert "sfumato which choice 100" in run.exception.hint
