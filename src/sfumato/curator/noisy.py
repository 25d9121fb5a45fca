"""From the exact answer, sealed, to what may be stored: one mechanism's release of each part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.curator.keys import released
from sfumato.curator.parts import stored, taken

if TYPE_CHECKING:
    from sfumato.core.private import Private
    from sfumato.curator.preview import Preview


def noisy(preview: Preview, exact: Private[Any]) -> dict[str, Any]:
    """The noisy integers of a priced question, and its private groups by name where it has any."""
    bounded = preview.bounded
    if bounded.private:
        return released(preview, exact)
    parts = []
    for place, (mechanism, sensitivity) in enumerate(zip(preview.mechanisms, bounded.sensitivities, strict=True)):
        part = exact.map(lambda each, at=place, by=mechanism: taken(each[at], bounded, by))  # type: ignore[misc]
        parts.append(stored(mechanism.release(part, sensitivity).value))
    return {"vectors": parts}
