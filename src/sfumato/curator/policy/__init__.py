"""The policy: one TOML file that says what is protected, what may be asked, and how much may be spent."""

from sfumato.curator.policy.policy import Policy

__all__ = ["Policy"]
