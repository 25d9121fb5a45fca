"""What requests hold. Numbers that state a price are text; nothing unknown is passed over."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, WithJsonSchema

Amount = Annotated[
    str,
    StringConstraints(strict=True, pattern=r"^[0-9]{1,60}(\.[0-9]{1,60}|/[0-9]{1,60})?(e-[0-9]{1,2})?$"),
    Field(description="a number as text: 0.25, 1/3, 1e-6", examples=["0.1"]),
]
Word = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=64, pattern=r"^[ -~]+$")]
Asked = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {
            "title": "Question",
            "description": "SQL text; or a table and the steps of a frame, as sfumato.connect sends them",
            "oneOf": [
                {
                    "type": "object",
                    "required": ["sql"],
                    "additionalProperties": False,
                    "properties": {
                        "sql": {"type": "string", "maxLength": 100_000, "example": "SELECT COUNT(*) FROM people"},
                        "steps": {"type": "array", "maxItems": 64, "items": {"type": "array"}},
                    },
                },
                {
                    "type": "object",
                    "required": ["table", "steps"],
                    "additionalProperties": False,
                    "properties": {
                        "table": {"type": "string"},
                        "steps": {"type": "array", "maxItems": 64, "items": {"type": "array"}},
                    },
                },
            ],
        }
    ),
]


class Body(BaseModel):
    """Strict: no number for a text, no key that is not known."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Priced(Body):
    """A question, and a price: `epsilon`, or bars of `within` in groups of `at` rows."""

    question: Asked
    epsilon: Amount | None = None
    within: Amount | None = None
    at: Annotated[int, Field(ge=1, le=10**12)] = 1000
    confidence: Amount | None = None
    workload: Literal["bins", "ranges", "cdf", "levels"] = Field(
        default="bins", description="what the groups are for: each by itself, ranges of them, cumulative counts"
    )
    delta: Amount | None = Field(default=None, description="for groups whose keys are private")
    key: Annotated[str, StringConstraints(strict=True, pattern=r"^[0-9a-f]{64}$")] | None = Field(
        default=None, description="the key that the caller computed: nothing is charged when the server's is another"
    )

    def price(self) -> dict[str, Any]:
        """All but the question."""
        return {name: value for name, value in self if name != "question" and value is not None}


class Several(Body):
    """Questions that are all charged, or none."""

    questions: Annotated[list[Priced], Field(min_length=1, max_length=64)]
    again: bool = Field(default=False, description="only answers that you have paid for before: nothing is charged")


class Refining(Body):
    """An answer, by its name, and what to pay on top of it."""

    answer: Word
    epsilon: Amount


class Starting(Body):
    """An interactive mechanism by its class, its price, and what it is told when it starts."""

    mechanism: Word
    epsilon: Amount
    delta: Amount = "0"
    public: dict[Word, str | int | bool] = Field(default_factory=dict, examples=[{"threshold": "500"}])


class Counting(Body):
    """The next question of a mechanism: one count."""

    question: Asked


class Freezing(Body):
    """Whom to stop, or to let go on; everyone when no name is given."""

    analyst: Word | None = None
    frozen: bool = True
    reason: Annotated[str, StringConstraints(strict=True, max_length=500, pattern=r"^[^\x00-\x1f]*$")] = ""


class Problem(BaseModel):
    """RFC 9457."""

    type: str
    title: str
    status: int
    code: str | None
    hint: str
    cost: str | None = None
    left: str | None = None
