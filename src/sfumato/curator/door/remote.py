"""The session of an analyst who is elsewhere: the verbs of `Session`, the same previews and answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final
from urllib.parse import quote

from sfumato.core.errors import BadInput
from sfumato.core.exact import Number, fraction
from sfumato.curator.answer import Answer
from sfumato.curator.door import recorded, wire
from sfumato.curator.door.line import Line
from sfumato.curator.door.recorded import Recorded
from sfumato.curator.door.started import reply_from_json
from sfumato.curator.dummy import ROWS
from sfumato.curator.preview import Preview
from sfumato.queries.sql.options import priced

if TYPE_CHECKING:
    from sfumato.curator.ledger.ledger import Left
    from sfumato.curator.ledger.records import Charge
    from sfumato.curator.rehearsal import Rehearsal
    from sfumato.curator.terms import Terms
    from sfumato.mechanisms.stream.interactive import Interactive
    from sfumato.queries.plan import Released

Asked = str | Recorded | Preview


@final
@dataclass(frozen=True)
class RemoteSession:
    """An analyst before a data set behind a door. Questions are read and priced here, and once more there.

    The server charges nothing when it reads or prices a question otherwise than this side did.
    """

    line: Line
    dataset: str
    analyst: str

    @cached_property
    def terms(self) -> Terms:
        """What questions are priced under, as the server said when it was first asked."""
        return wire.terms_from_json(self.line.get(self._path("terms")))

    def table(self, name: str) -> Recorded:
        """A table to build questions on."""
        return recorded.table(self, name)

    def sql(self, text: str) -> Recorded:
        """A question written in SQL."""
        return recorded.sql(self, text)

    def preview(
        self,
        question: Asked,
        *,
        epsilon: Number | None = None,
        within: Number | None = None,
        at: int = 1000,
        confidence: Number | None = None,
        workload: str = "bins",
        delta: Number | None = None,
    ) -> Preview:
        """The priced question, free: at an `epsilon`, or at the price that makes bars `within` in groups of `at` rows."""
        if isinstance(question, Preview):
            return question
        if isinstance(question, str):
            question, epsilon, delta = priced(question, self.terms.schema, epsilon=epsilon, within=within, delta=delta)
        said = self.sql(question) if isinstance(question, str) else question
        if not isinstance(said, Recorded):
            raise _not_said_here()
        made = self.terms.preview(
            said.plan,
            epsilon=epsilon,
            within=within,
            at=at,
            confidence=confidence,
            workload=workload,
            delta=delta,
        )
        return made.worded(said.wording)

    def ask(self, question: Asked, **price: Any) -> Answer:
        """Charge the question, compute it, and hand out what the ledger stored."""
        return self.ask_all([self.preview(question, **price)])[0]

    def again(self, question: Asked, **price: Any) -> Answer:
        """An answer that this analyst has paid for; refused where there is none. Nothing is charged either way."""
        return self._answers([self.preview(question, **price)], again=True)[0]

    def ask_all(self, previews: Sequence[Preview]) -> list[Answer]:
        """Several questions on one budget: all are charged, or none. One that occurs twice is asked once."""
        return self._answers(previews)

    def _answers(self, previews: Sequence[Preview], **said: bool) -> list[Answer]:
        body = {"questions": [_priced(preview) for preview in previews], **said}
        found = self.line.post(self._path("ask-all"), body)["answers"]
        return [
            wire.answer_from_json(each, self.terms, preview, self)
            for each, preview in zip(found, previews, strict=True)
        ]

    def refine(self, answer: Answer, *, epsilon: Number) -> Answer:
        """More for the same question, at a further price; linear cells are pooled, so ratios come out better too."""
        body = {"answer": answer.id, "epsilon": _text(epsilon)}
        return wire.answer_from_json(self.line.post(self._path("refine"), body), self.terms, answer.preview, self)

    def answer(self, name: str) -> Answer:
        """An answer that was charged to this analyst before, by its name."""
        body = self.line.get(f"/v1/answers/{quote(name, safe='')}")
        return wire.answer_from_json(body, self.terms, None, self)

    def start(
        self, mechanism: type[Interactive[Any]], *, epsilon: Number, delta: Number = 0, **public: Any
    ) -> RemoteLive:
        """An interactive mechanism, charged whole now. It lives in the server: when that ends, so does the mechanism."""
        given = {name: value if isinstance(value, bool | str) else _text(value) for name, value in public.items()}
        body = {
            "mechanism": mechanism.__name__,
            "epsilon": _text(epsilon),
            "delta": _text(delta),
            "public": given,
        }
        found = self.line.post(self._path("start"), body, twice=False)
        return RemoteLive(self, str(found["id"]), wire.charge_from_json(found["charged"]))

    def dummy(self, *, rows: int = ROWS) -> Rehearsal:
        """The same questions before rows drawn here from what the server said of the policy: free, and about nobody."""
        from sfumato.curator.rehearsal import Rehearsal

        return Rehearsal(self.terms, self.left(), rows=rows)

    def left(self) -> Left:
        """What this analyst may still spend."""
        return wire.left_from_json(self.line.get(self._path("budget")))

    def plan(self, question: str | Recorded) -> Released:
        """The plan of anything that can be asked."""
        said = self.sql(question) if isinstance(question, str) else question
        plan: Released = said.plan
        return plan

    def _path(self, verb: str) -> str:
        return f"/v1/datasets/{quote(self.dataset, safe='')}/{verb}"


@final
class RemoteLive:
    """An interactive mechanism under way in a server."""

    def __init__(self, session: RemoteSession, name: str, charged: Charge) -> None:
        self.session, self.name, self.charged = session, name, charged
        self.closed = False

    def ask(self, question: str | Recorded) -> Any:
        """The reply to one count: whether it is above the threshold (and by how much), or the count with noise."""
        if self.closed:
            raise BadInput(
                "this session is closed: it has given its last reply", hint="start another one, which is charged anew"
            )
        said = self.session.sql(question) if isinstance(question, str) else question
        found = self.session.line.post(f"/v1/mechanisms/{self.name}/ask", {"question": said.wording}, twice=False)
        self.closed = bool(found["closed"])
        return reply_from_json(found["reply"])


def connect(url: str, *, token: str, dataset: str | None = None, ca: str | None = None) -> RemoteSession:
    """The session that a token opens. `dataset` says which, by id or name, when it opens several.

    `ca` names a file of certificates to trust besides the system's.
    """
    line = Line(url, token=token, ca=ca)
    found = line.get("/v1/datasets")
    there = [each for each in found["datasets"] if dataset in (None, each["id"], each["name"])]
    if len(there) != 1:
        names = ", ".join(each["name"] for each in found["datasets"]) or "none"
        raise BadInput(
            "this token opens several data sets" if there else "this token opens no such data set",
            hint=f"say dataset=...; it opens {names}",
        )
    return RemoteSession(line, str(there[0]["id"]), str(found["name"]))


def _priced(preview: Preview) -> dict[str, Any]:
    if preview.wording is None:
        raise _not_said_here()
    return {"question": preview.wording, **preview.priced(), "key": preview.key}


def _text(value: Number) -> str:
    return str(fraction(value, name="a number"))


def _not_said_here() -> BadInput:
    return BadInput(
        "this question was made by another session, and only words travel",
        hint="start from this session: session.sql(...), session.table(...), session.preview(...)",
    )
