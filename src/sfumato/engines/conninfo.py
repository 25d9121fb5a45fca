"""How PostgreSQL is addressed: what stands behind `postgresql:` in a policy, as its client library takes it."""

from __future__ import annotations


def conninfo(where: str) -> str:
    """`//host/database` is an address; anything else is keywords such as `service=clinic` or `host=db dbname=clinic`.

    Passwords are not among them: they come from PGPASSFILE, a service file or the environment.
    """
    return f"postgresql:{where}" if where.startswith("//") else where
