"""What an audit found, for people and for tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from sfumato.audit.exact import Finding


@final
@dataclass(frozen=True, slots=True)
class Report:
    """One mechanism, attacked: what it promised beside what was measured."""

    mechanism: str
    claimed: float
    delta: float
    lower_bound: float
    confidence: float
    runs: int
    event: str
    seconds: float
    broken_curve: bool
    misfit: float | None
    findings: tuple[Finding, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is caught; empty when nothing was found."""
        found = []
        if self.lower_bound > self.claimed:
            found.append(f"at least epsilon {self.lower_bound:.4f} was measured, {self.claimed:.4f} was promised")
        if self.broken_curve:
            found.append("the measured event lies outside the promised curve")
        if self.misfit is not None and self.misfit < 1e-9:
            found.append(f"the draws do not follow the stated law (p = {self.misfit:.1e})")
        for finding in self.findings:
            if finding.understated:
                found.append(
                    f"at epsilon {finding.epsilon:.4g} delta is {finding.least:.6g}, {finding.claimed:.6g} was promised"
                )
                break
        return tuple(found)

    @property
    def passed(self) -> bool:
        return not self.reasons

    def __str__(self) -> str:
        verdict = "PASS" if self.passed else "CAUGHT"
        lines = [
            f"{verdict}  {self.mechanism}",
            f"  promised  epsilon {self.claimed:.4f}" + (f" at delta {self.delta:g}" if self.delta else ""),
            f"  measured  epsilon at least {self.lower_bound:.4f} ({self.event}; {self.runs:,} runs a side, "
            f"{self.confidence:.1%} sure, {self.seconds:.1f} s)",
        ]
        if self.findings:
            lines.append(f"  exact     {len(self.findings)} points of the law summed and compared with the promise")
        return "\n".join(lines + [f"  because   {reason}" for reason in self.reasons])
