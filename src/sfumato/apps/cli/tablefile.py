"""Table files as the owner has them: CSV or Parquet in, the same out. What a reader says of a broken file is not repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sfumato.core.errors import BadInput

ENDINGS = (".csv", ".parquet")


def read(path: str, *, missing: tuple[str, ...] = ()) -> Any:
    """An Arrow table; these texts are read as missing values."""
    import narwhals as nw

    ending = Path(path).suffix.lower()
    _check(ending)
    if not Path(path).is_file():
        raise BadInput(f"there is no file {path}", hint="look at the name and the folder")
    try:
        frame = (nw.read_csv if ending == ".csv" else nw.read_parquet)(path, backend="pyarrow")
    except Exception:
        # The library's own words may quote a row.
        raise BadInput(
            f"{path} could not be read as {ending[1:]}", hint="is it whole, and what its name says?"
        ) from None
    if missing:
        text = [name for name in frame.columns if frame[name].dtype == nw.String]
        blank = nw.lit(None, nw.String)
        frame = frame.with_columns(
            nw.when(~nw.col(name).is_in(missing)).then(nw.col(name)).otherwise(blank).alias(name) for name in text
        )
    return frame.to_native()


def write(table: Any, path: str | None) -> None:
    """To a file, or as CSV to stdout."""
    import narwhals as nw

    frame = nw.from_native(table, eager_only=True)
    if path is None:
        click.echo(frame.write_csv(), nl=False)
        return
    ending = Path(path).suffix.lower()
    _check(ending)
    (frame.write_csv if ending == ".csv" else frame.write_parquet)(path)


def _check(ending: str) -> None:
    if ending not in ENDINGS:
        raise BadInput(f"a table file ends with {' or '.join(ENDINGS)}", hint="convert it, or rename it")
