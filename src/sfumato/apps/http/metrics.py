"""Counters for Prometheus: requests, refusals, and what is left of budgets. For owners only, and without durations."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from sfumato.curator.door.desk import Desk


@final
class Metrics:
    """Counts since the server started, by data set."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._refusals: Counter[tuple[str, str]] = Counter()

    def count(self, *, dataset: str, route: str, status: int, code: str) -> None:
        with self._lock:
            self._requests[dataset, route, status] += 1
            if code:
                self._refusals[dataset, code] += 1

    def text(self, desks: Iterable[Desk]) -> str:
        """What concerns these data sets, in the text format of Prometheus."""
        return "\n".join(self._lines(list(desks))) + "\n"

    def _lines(self, desks: list[Desk]) -> Iterator[str]:
        shown = {desk.id for desk in desks}
        with self._lock:
            requests, refusals = dict(self._requests), dict(self._refusals)
        yield "# TYPE sfumato_requests_total counter"
        for (dataset, route, status), count in sorted(requests.items()):
            if dataset in shown:
                yield _line("sfumato_requests_total", {"dataset": dataset, "route": route, "status": status}, count)
        yield "# TYPE sfumato_refusals_total counter"
        for (dataset, code), count in sorted(refusals.items()):
            if dataset in shown:
                yield _line("sfumato_refusals_total", {"dataset": dataset, "code": code}, count)
        yield "# TYPE sfumato_budget_left gauge"
        for desk in desks:
            books = desk.books()
            unit = "epsilon" if books["accountant"] == "pure" else "rho"
            yield _line("sfumato_budget_left", {"dataset": desk.id, "unit": unit}, books["left"][unit])


def _line(name: str, labels: Mapping[str, object], value: object) -> str:
    said = ",".join(f'{key}="{_escaped(str(each))}"' for key, each in labels.items())
    return f"{name}{{{said}}} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
