"""`sfumato release`: publish a bulletin once, list what was published, say what was published without protection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.apps.cli import options, output
from sfumato.apps.cli.language import Lang, talk
from sfumato.apps.cli.progress import waiting
from sfumato.core.exact import decimal_text

if TYPE_CHECKING:
    from sfumato.curator.release.offer import Offer

COLUMNS = ("id", "release", "edition", "rows", "at", "superseded")


@click.group()
def command() -> None:
    """Publish: several products on one budget, with a certificate; once for each edition."""


@command.command()
@click.argument("bulletin", type=click.Path(dir_okay=False))
@click.option("--version", "edition", required=True, help="the edition, such as 2026-11: each is published once")
@click.option("--preview", "only_price", is_flag=True, help="what it would cost and how precise it would be; free")
@click.option(
    "--scan", is_flag=True, help="for the owner: read the rows first, and refuse a public table that is a copy"
)
@click.option("--output", "folder", type=click.Path(file_okay=False), help="the folder; the bulletin's by default")
@click.option(
    "--to", "targets", multiple=True, help="also write the tables to duckdb:FILE, postgresql:... or parquet:DIR"
)
@click.option("--supersedes", help="an earlier edition that this one stands for; needs --reason")
@click.option("--reason", default="", help="why it is superseded: readers are told")
@options.policy
@options.formats("table", "json")
@options.lang
def run(
    bulletin: str,
    edition: str,
    only_price: bool,
    scan: bool,
    folder: str | None,
    targets: tuple[str, ...],
    policy_file: str,
    form: str,
    lang: Lang,
    supersedes: str | None,
    reason: str,
) -> None:
    """Publish an edition of BULLETIN, a TOML file. Run again, it is the same release, and costs nothing.

    The folder appears whole or not at all. What was charged is kept in the ledger, so the files can always be made again.
    """
    from sfumato.curator.dataset import open_dataset
    from sfumato.curator.release.bulletin import Bulletin
    from sfumato.curator.release.database import Target
    from sfumato.curator.release.folder import refuse_unwritable

    written = Bulletin.load(bulletin)
    places = [Target(text) for text in targets]
    dataset = open_dataset(policy_file)
    publication = written.publication(dataset, edition=edition, supersedes=supersedes, reason=reason)
    offer = publication.price()
    if only_price:
        _show_price(offer, form, lang)
        return
    place = Path(folder) if folder else written.folder(edition, beside=Path(bulletin).parent)
    earlier = offer.earlier()
    if place.exists():
        _refuse_other(place, "" if earlier is None else f"r-{earlier.n:06d}", dataset.policy.id)
    refuse_unwritable(place)
    with waiting("…"):
        if scan:
            publication.scan()
        published = publication.release()
        published.save(place)
        names = [name for target in places for name in target.write(published)]
    unit, paid = dataset.budget.total.currency.value, published.charged
    cost = {unit: decimal_text(paid.amount), "delta": decimal_text(paid.failure)}
    if form == "json":
        output.as_json(
            {"release": published.id, "edition": edition, "folder": str(place), "replayed": published.replayed}
            | {"charged": cost, "tables": names, "signer": published.signer.fingerprint}
        )
        return
    click.echo(place)
    if published.replayed:
        talk(
            lang,
            en=f"{published.id} was published before: nothing was charged",
            fr=f"{published.id} était déjà publiée\u202f: rien n’est débité",
        )
    else:
        price = " ".join(f"{name} {amount}" for name, amount in cost.items() if amount != "0" or name == unit)
        talk(
            lang, en=f"{published.id} is published, charged {price}", fr=f"{published.id} est publiée, débitée {price}"
        )
    for name in names:
        talk(lang, en=f"table {name}", fr=f"table {name}")
    talk(
        lang,
        en=f"signed by {published.signer.fingerprint}: tell readers this by another way (`sfumato key show`)",
        fr=f"signé par {published.signer.fingerprint}\u202f: dites-le aux lecteurs par ailleurs (`sfumato key show`)",
    )


@command.command()
@click.argument("products", nargs=-1, required=True)
@click.option("--epsilon", required=True, help="of all products together")
@click.option("--delta", default="0", show_default=True, help="at which the release's own epsilon is stated")
@click.option("--name", default="release", show_default=True, help="of the release; its contents are its edition")
@click.option("--output", "folder", type=click.Path(file_okay=False), required=True, help="the folder")
@options.policy
@options.lang
def make(
    products: tuple[str, ...], epsilon: str, delta: str, name: str, folder: str, policy_file: str, lang: Lang
) -> None:
    """Publish PRODUCTS without a bulletin: counts:sex,education  means:hours/sex  histogram:age  quantiles:age@0.1,0.5

    A product is KIND:COLUMNS, then /KEYS, then @LEVELS of quantiles. The same products at the same price are the same release.
    """
    from sfumato.curator.dataset import open_dataset
    from sfumato.curator.release.published import CERTIFICATE
    from sfumato.curator.release.spelled import add

    publication = open_dataset(policy_file).publish(epsilon=epsilon, delta=delta, name=name)
    for text in products:
        add(publication, text)
    offer, place = publication.price(), Path(folder)
    earlier = offer.earlier()
    if place.exists():
        _refuse_other(place, "" if earlier is None else f"r-{earlier.n:06d}", offer.dataset.policy.id)
    with waiting("…"):
        publication.save(place)
    click.echo(place / CERTIFICATE)
    paid = publication.release().charged.amount
    talk(
        lang, en=f"published, charged {decimal_text(paid)}", fr=f"publié, débité {decimal_text(paid)}".replace(".", ",")
    )


@command.command("list")
@options.policy
@options.formats("table", "json", "csv")
@options.lang
def list_(policy_file: str, form: str, lang: Lang) -> None:
    """Every release of the data set, oldest first."""
    from sfumato.curator.home import Home
    from sfumato.curator.policy import Policy
    from sfumato.curator.release.history import releases

    rows = [each.row() for each in releases(Policy.load(policy_file).ledger(Home.default()))]
    output.records(rows, COLUMNS, form=form)


@command.command()
@click.argument("text")
@options.policy
@options.lang
def unprotected(text: str, policy_file: str, lang: Lang) -> None:
    """Write down that something exact, or merely anonymised, was released about the same people: TEXT says what.

    It costs nothing and cannot be taken back: `budget` and every later certificate repeat it, because no budget covers it.
    """
    from sfumato.curator.home import Home
    from sfumato.curator.policy import Policy

    position = Policy.load(policy_file).ledger(Home.default()).unprotected(text)
    talk(
        lang,
        en=f"written into the ledger, record {position.n}: every later certificate says it",
        fr=f"inscrit au registre, numéro {position.n}\u202f: chaque certificat le dira désormais",
    )


def _refuse_other(place: Path, release: str, dataset: str) -> None:
    """A folder that holds anything but this release, before anything is charged."""
    from sfumato.curator.release.published import kept

    kept(place, release, dataset=dataset)


def _show_price(offer: Offer, form: str, lang: Lang) -> None:
    """The price of the whole and of each product; how wide the bars are."""
    left = offer.dataset.ledger.left(offer.analyst)
    unit = left.caps.unit
    rest = decimal_text(left.analyst.amount, rounding="down")
    epsilon, delta, how = offer.tight
    earlier = offer.earlier() is not None
    products: list[dict[str, Any]] = [product.foreseen() for product in offer.products]
    if form == "json":
        output.as_json(
            {
                "release": offer.heading.name,
                "edition": offer.edition,
                "cost": offer.amounts(),
                "left": rest,
                "guarantee": {"epsilon": epsilon, "delta": delta, "how": how},
                "published": earlier,
                "products": products,
            }
        )
        return
    sign = "ε" if unit == "epsilon" else "ρ"
    cost = offer.amounts()[unit]
    if lang == "fr":
        click.echo(f" coût      {sign} {cost}, il reste {rest}".replace(".", ","))
        click.echo(f" garantie  ε {epsilon:.6g}, δ {delta:.2g} pour cette publication seule".replace(".", ","))
    else:
        click.echo(f" cost      {sign} {cost} of {rest} left")
        click.echo(f" promise   ε {epsilon:.6g}, δ {delta:.2g} for this release alone ({how})")
    for product in products:
        bars = ", ".join(f"{name} ±{width:.4g}" for name, width in product["within"].items())
        click.echo(f" {product['name']:<28} ε {product['epsilon']}  {bars}")
    talk(lang, en="bars are for groups of 1000 rows", fr="les barres valent pour des groupes de 1000 lignes")
    if earlier:
        talk(
            lang,
            en="this edition is published already: running it costs nothing",
            fr="édition déjà publiée\u202f: gratuite",
        )
