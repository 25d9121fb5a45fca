"""The product attacks itself: exact verification of a law against its promise, and statistical attacks on samples."""

from sfumato.audit.attack import least_epsilon
from sfumato.audit.exact import Finding, verify
from sfumato.audit.report import Report
from sfumato.audit.run import audit

__all__ = ["Finding", "Report", "audit", "least_epsilon", "verify"]
