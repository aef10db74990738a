"""What the operator of a site says about it in site.toml: names, colours, contact, legal texts, links to records.

The file belongs to a server, and its `[[collections]]` to the collections that it serves. Errors name the file, the
line and the key (`roslin.values.toml_file`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field

from roslin.display.words import N_
from roslin.values.toml_file import Text, TomlPlace, TomlTable, read_toml, refusal
from roslin.web.settings import check_link, checked_path

LEAST_CONTRAST = 4.5  # of text and what is behind it, by WCAG 2.2, success criterion 1.4.3
_LIGHT, _DARK = (
    ("#f7f7f4", "#ffffff", "#eaf1f6"),
    ("#14181b", "#1c2227", "#222c34"),
)  # what is behind it: those of style.css
_LOGOS = {".svg": "image/svg+xml", ".png": "image/png"}
_MOST_LOGO_BYTES = 200_000
PAGES = {"imprint": N_("Imprint"), "privacy": N_("Privacy"), "accessibility": N_("Accessibility")}


def _web_address(value: object) -> object:
    if not isinstance(value, str) or urlsplit(value).scheme not in ("http", "https"):
        raise refusal("must be an address", "https://...")
    return value


def _colour(behind: tuple[str, ...]) -> BeforeValidator:
    def checked(value: object) -> object:
        if not isinstance(value, str) or not re.fullmatch("#[0-9a-fA-F]{6}", value):
            raise refusal("must be a colour", 'six digits, as "#1a5a86"')
        least = min(contrast(value, each) for each in behind)
        if least < LEAST_CONTRAST:
            raise refusal(
                f"the contrast to the background is {least:.1f}", f"at least {LEAST_CONTRAST}, as in WCAG 2.2"
            )
        return value

    return BeforeValidator(checked)


def contrast(one: str, other: str) -> float:
    """The ratio of the brighter to the darker colour, as WCAG defines it.

    >>> round(contrast("#ffffff", "#000000"), 1)
    21.0
    """
    dark, bright = sorted(map(_luminance, (one, other)))
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


Address = Annotated[str, BeforeValidator(_web_address)]


class Colours(TomlTable):
    """`[colours]`: of links and buttons, on a light and on a dark page."""

    light: Annotated[str, _colour(_LIGHT)] = ""
    dark: Annotated[str, _colour(_DARK)] = ""


class Accessibility(TomlTable):
    """`[accessibility]`: for the statement."""

    checked: Text = ""
    """When it was checked last."""
    limits: Text = ""
    """What some people cannot use."""
    complaints: Text = ""
    """The office that decides if the operator does not answer."""


class Served(TomlTable):
    """`[[collections]]`: one collection of several."""

    folder: Text
    """The name of its folder, with or without .roslin."""
    path: Text = ""
    name: Text = ""
    link: Text = ""
    iiif: Text = ""


class Site(TomlTable):
    """The keys of site.toml."""

    name: Text
    home: Address = ""
    logo: Text = ""
    contact: Text = ""
    licence: Text = ""
    licence_link: Address = ""
    link: Text = ""
    iiif: Text = ""
    imprint: Text = ""
    privacy: Text = ""
    accessibility: Accessibility = Accessibility()
    colours: Colours = Colours()
    collections: list[Served] = Field(default=[])

    def served(self, folder: Path) -> Served:
        names = (folder.name, folder.name.removesuffix(".roslin"))
        found = next((each for each in self.collections if each.folder in names), Served(folder=folder.name))
        changes = {name: getattr(found, name) or getattr(self, name) for name in ("link", "iiif")}
        return found.model_copy(update=changes | {"path": found.path or names[1], "name": found.name or names[1]})


@dataclass(frozen=True, slots=True)
class Imprint:
    """The file, read, with the logo that it names and its media type."""

    site: Site
    logo: bytes = b""
    logo_type: str = ""

    @property
    def pages(self) -> dict[str, str]:
        """The pages of the operator, with their names. An imprint needs a text."""
        return {page: name for page, name in PAGES.items() if page != "imprint" or self.site.imprint}

    @property
    def style(self) -> str:
        colours, sheet = self.site.colours, ":root {{ --link: {0}; --note: {0}; }}"
        light = sheet.format(colours.light) if colours.light else ""
        dark = f"@media (prefers-color-scheme: dark) {{ {sheet.format(colours.dark)} }}" if colours.dark else ""
        return f"{light}\n{dark}".strip()


def read_imprint(path: Path) -> Imprint:
    """Read site.toml and the logo that it names."""
    source, values = read_toml(path)
    top = TomlPlace(path, source)
    site = top.read(Site, values)
    below = [(top.below("collections", number), each) for number, each in enumerate(site.collections)]
    for place, patterns in [(top, site), *below]:
        for name in ("link", "iiif"):
            if pattern := getattr(patterns, name):
                with place.blaming(name):
                    check_link(pattern)
    for place, each in below:
        with place.blaming("path"):
            checked_path(f"/{each.path}")
    return Imprint(site, *_logo(top, site.logo)) if site.logo else Imprint(site)


def _logo(top: TomlPlace, name: str) -> tuple[bytes, str]:
    path = top.path.parent / name
    if path.suffix.lower() not in _LOGOS:
        raise top.error("logo", "must be a picture", "a file that ends in .svg or .png", name)
    if not path.is_file():
        raise top.error("logo", "there is no such file", "a file beside this one", name)
    if path.stat().st_size > _MOST_LOGO_BYTES:
        raise top.error("logo", "the file is too large", f"at most {_MOST_LOGO_BYTES // 1000} kB", name)
    return path.read_bytes(), _LOGOS[path.suffix.lower()]
