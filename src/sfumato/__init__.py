"""sfumato: a curator for sensitive tables. Public names are loaded on first use, so `import sfumato` costs nothing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # The name of a function and of the package that holds it; type checkers would take the package.
    from sfumato.anonymise.run import anonymise as anonymise

_HOMES: dict[str, str] = {
    "anonymise": "sfumato.anonymise",
    "connect": "sfumato.curator.door.remote",
    "count": "sfumato.queries.frame",
    "count_units": "sfumato.queries.frame",
    "count_distinct": "sfumato.queries.frame",
    "mean": "sfumato.queries.frame",
    "median": "sfumato.queries.frame",
    "open": "sfumato.curator.dataset:open_dataset",
    "quantile": "sfumato.queries.frame",
    "stddev": "sfumato.queries.frame",
    "sum": "sfumato.queries.frame",
    "variance": "sfumato.queries.frame",
    "Neighbours": "sfumato.core",
    "Private": "sfumato.core",
    "Sensitivity": "sfumato.core",
    "SfumatoError": "sfumato.core",
}

__version__ = "0.1.0.dev0"
__all__ = [*sorted(_HOMES), "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}") from None
    module, _, other = home.partition(":")
    return getattr(import_module(module), other or name)


def __dir__() -> list[str]:
    return __all__
