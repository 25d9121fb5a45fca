"""`sfumato serve`: the curator behind a door, for analysts who are elsewhere."""

from __future__ import annotations

import click

from sfumato.apps.cli import options
from sfumato.apps.cli.language import Lang, talk
from sfumato.core.errors import BadInput


@click.command()
@click.argument("policies", nargs=-1, required=True, type=click.Path(dir_okay=False))
@click.option("--http", "address", default="127.0.0.1:8000", show_default=True, help="where to listen")
@click.option("--padding", default=None, help="replies leave at multiples of this time: 250ms")
@click.option("--tls-cert", default=None, type=click.Path(exists=True, dir_okay=False), help="certificates, PEM")
@click.option("--tls-key", default=None, type=click.Path(exists=True, dir_okay=False), help="their key, PEM")
@click.option(
    "--behind-proxy",
    is_flag=True,
    help="listen beyond this machine in clear, because a proxy speaks TLS with the analysts and nobody listens "
    "between it and this server",
)
@click.option("--rate", default=50.0, show_default=True, help="requests a second of one token; 0 is no limit")
@click.option("--threads", default=8, show_default=True, type=click.IntRange(1, 64), help="questions at a time")
@options.lang
def command(
    policies: tuple[str, ...],
    address: str,
    padding: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    behind_proxy: bool,
    rate: float,
    threads: int,
    lang: Lang,
) -> None:
    """Answer questions about the data sets of POLICIES over HTTP. Who may ask is said with `sfumato token create`.

    It listens on this machine only, unless TLS or --behind-proxy is given. SIGTERM lets questions under way finish.
    """
    try:
        from sfumato.apps.http import run
    except ImportError:
        raise BadInput("the server needs FastAPI and uvicorn", hint="pip install 'sfumato[serve]'") from None
    from sfumato.apps.http.settings import Settings
    from sfumato.curator.door.padding import Padding

    if (tls_cert is None) != (tls_key is None):
        raise BadInput("TLS needs certificates and their key", hint="give --tls-cert and --tls-key")
    host, port = run.address_of(address)
    settings = Settings(padding=Padding.parse(padding) if padding else Padding(), rate=rate, threads=threads)
    tls = (tls_cert, tls_key) if tls_cert and tls_key else None
    server = run.server(policies, host=host, port=port, settings=settings, tls=tls, behind_proxy=behind_proxy)
    scheme = "https" if tls else "http"
    talk(
        lang,
        en=f"serving {len(policies)} data set(s) at {scheme}://{address}/ (its routes are described there)",
        fr=f"{len(policies)} jeu(x) de données à l'adresse {scheme}://{address}/ (les routes y sont décrites)",
    )
    server.run()
    if not server.started:
        raise BadInput("this address cannot be listened on", hint="is another server running? choose another port")
