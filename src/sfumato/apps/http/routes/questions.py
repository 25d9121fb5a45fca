"""Questions: priced for free, asked for a charge, refined, read again."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from sfumato.apps.http.access import Who
from sfumato.apps.http.bodies import Priced, Refining, Several
from sfumato.apps.http.queue import Turns
from sfumato.apps.http.replies import BOTH, reply, shown
from sfumato.core.errors import NotFound
from sfumato.curator.door import wire
from sfumato.curator.door.desk import no_answer
from sfumato.curator.door.tokens import Role

router = APIRouter(tags=["questions"])


@router.post("/v1/datasets/{d}/preview", summary="What a question costs, and how precise it is; free")
async def preview(d: str, body: Priced, who: Who, turns: Turns, request: Request) -> Response:
    return reply(await turns.run(who.desk(d, request).preview, body.question, body.price()))


@router.post("/v1/datasets/{d}/ask", summary="Charge a question, and answer it", responses=BOTH)
async def ask(d: str, body: Priced, who: Who, turns: Turns, request: Request) -> Response:
    desk, accept = who.desk(d, request), request.headers.get("accept", "")
    who.only(Role.ANALYST)
    return await turns.run(lambda: shown(desk.ask(who.name, [(body.question, body.price())])[0], accept))


@router.post("/v1/datasets/{d}/ask-all", summary="Several questions on one budget: all are charged, or none")
async def ask_all(d: str, body: Several, who: Who, turns: Turns, request: Request) -> Response:
    desk = who.desk(d, request)
    who.only(Role.ANALYST)
    wanted = [(each.question, each.price()) for each in body.questions]
    return await turns.run(
        lambda: reply({"answers": [wire.answer_to_json(each) for each in desk.ask(who.name, wanted, again=body.again)]})
    )


@router.post("/v1/datasets/{d}/refine", summary="Pay more for an answer, and pool its noise", responses=BOTH)
async def refine(d: str, body: Refining, who: Who, turns: Turns, request: Request) -> Response:
    desk, accept = who.desk(d, request), request.headers.get("accept", "")
    who.only(Role.ANALYST)
    return await turns.run(lambda: shown(desk.refine(who.name, body.answer, epsilon=body.epsilon), accept))


@router.get("/v1/answers/{answer}", summary="An answer that you paid for, by its name", responses=BOTH)
async def answer(answer: str, who: Who, turns: Turns, request: Request) -> Response:
    accept = request.headers.get("accept", "")
    who.only(Role.ANALYST)

    def found() -> Response:
        for desk in who.desks:
            try:
                return shown(desk.answer(who.name, answer), accept)
            except NotFound:
                continue
        raise no_answer()

    return await turns.run(found)
