"""Files that appear whole or not at all: written beside their place, flushed to the disk, then renamed."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from sfumato.core.errors import BadInput
from sfumato.noise.secret import secret_bytes

_PART = "part"


def write_folder(folder: Path, files: Mapping[str, bytes]) -> Path:
    """A new folder with these files. A process that dies leaves at most a draft, which the next one removes.

    Whoever else has made the folder in the meantime has made the same one: the caller compares before and after.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    sweep(folder)
    draft = folder.with_name(f".{folder.name}.{os.getpid()}.{secret_bytes(4).hex()}.{_PART}")
    try:
        draft.mkdir()
        for name, content in files.items():
            _flushed(draft / name, content)
        _flush(draft)
        draft.rename(folder)
        _flush(folder.parent)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        raise _unwritable(folder) from None
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return folder


def write_file(path: Path, content: bytes) -> Path:
    """One file, replaced whole."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secret_bytes(4).hex()}.{_PART}")
    try:
        _flushed(draft, content)
        draft.replace(path)
        _flush(path.parent)
    except OSError:
        draft.unlink(missing_ok=True)
        raise _unwritable(path) from None
    return path


def refuse_unwritable(folder: Path) -> None:
    """BadInput when the folder could not be made: said before anything is charged."""
    nearest = next((each for each in folder.absolute().parents if each.exists()), Path("/"))
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise _unwritable(folder)


def sweep(folder: Path) -> None:
    """Remove what processes that have ended left half-written of this folder."""
    drafts = re.compile(rf"\.{re.escape(folder.name)}\.(\d+)\.[0-9a-f]+\.{_PART}")
    for each in folder.parent.iterdir():
        if (found := drafts.fullmatch(each.name)) and not _runs(int(found[1])):
            shutil.rmtree(each, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _flushed(path: Path, content: bytes) -> None:
    with path.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def _flush(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unwritable(path: Path) -> BadInput:
    return BadInput(
        f"{path} cannot be written", hint="name a place where you may write (--output); nothing was written there"
    )
