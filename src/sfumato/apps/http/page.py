"""The documentation of the routes as one page of HTML, made from the OpenAPI document: no script, nothing from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
h1{font-weight:600}h2{margin-top:2.5rem;border-bottom:1px solid #ccc}h3{margin-bottom:.2rem}
code,pre{font:14px/1.5 ui-monospace,monospace;background:#f5f5f5}pre{padding:.8rem;overflow-x:auto}
.m{display:inline-block;min-width:3.5rem;font-weight:600}summary{cursor:pointer}
"""


def page(document: Mapping[str, Any]) -> str:
    """All routes, by tag, with what they take."""
    info = document["info"]
    body = "".join(_sections(document))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>'
        f"{escape(info['title'])}</title><style>{_STYLE}</style></head><body><h1>{escape(info['title'])}</h1>"
        f"<p>{escape(info['summary'])}. {escape(info['description'])}</p>"
        '<p>Send <code>Authorization: Bearer TOKEN</code>. The same in OpenAPI 3.1: <a href="openapi.json">'
        f"openapi.json</a>.</p>{body}</body></html>"
    )


def _sections(document: Mapping[str, Any]) -> Iterator[str]:
    by_tag: dict[str, list[str]] = {}
    for path, verbs in document["paths"].items():
        for verb, route in verbs.items():
            by_tag.setdefault(route["tags"][0], []).append(_route(document, path, verb, route))
    for tag, routes in by_tag.items():
        yield f"<h2>{escape(tag)}</h2>{''.join(routes)}"


def _route(document: Mapping[str, Any], path: str, verb: str, route: Mapping[str, Any]) -> str:
    taken = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    schema = "" if taken is None else json.dumps(_resolved(document, taken), indent=1, ensure_ascii=False)
    body = f"<details><summary>takes</summary><pre>{escape(schema)}</pre></details>" if schema else ""
    asked = ", ".join(
        f"<code>{escape(each['name'])}</code>" for each in route.get("parameters", ()) if each["in"] == "query"
    )
    query = f"<p>Query: {asked}</p>" if asked else ""
    return (
        f'<h3><span class="m">{escape(verb.upper())}</span> <code>{escape(path)}</code></h3>'
        f"<p>{escape(route.get('summary', ''))}</p>{query}{body}"
    )


def _resolved(document: Mapping[str, Any], schema: Any) -> Any:
    """The schema with what it refers to in place."""
    match schema:
        case {"$ref": str(name)}:
            return _resolved(document, document["components"]["schemas"][name.rsplit("/", 1)[-1]])
        case dict():
            return {key: _resolved(document, each) for key, each in schema.items() if key != "title"}
        case list():
            return [_resolved(document, each) for each in schema]
        case _:
            return schema
