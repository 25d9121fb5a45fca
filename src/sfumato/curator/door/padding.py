"""How long a reply takes tells of the rows. With padding it takes a whole number of steps, whatever it was."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Self, final

from sfumato.core.errors import BadInput

_SAID = re.compile(r"([0-9]{1,6})(ms|s)")


@final
@dataclass(frozen=True, slots=True)
class Padding:
    """Replies leave at multiples of `step` seconds after they were asked for; 0 sends them when they are ready.

    What the number of steps still tells is little while a reply usually takes less than one.
    """

    step: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Self:
        """`250ms` or `1s`."""
        said = _SAID.fullmatch(text.strip())
        if said is None:
            raise BadInput("a padding is a number of ms or s", hint="write 250ms, or 1s")
        return cls(int(said[1]) / (1000 if said[2] == "ms" else 1))

    def steps(self, elapsed: float) -> int:
        """How many steps a reply takes that is ready after `elapsed` seconds."""
        return max(1, math.ceil(elapsed / self.step)) if self.step else 0

    def rest(self, elapsed: float) -> float:
        """How long it still has to wait."""
        return max(0.0, self.steps(elapsed) * self.step - elapsed)
