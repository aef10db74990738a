"""A small catalogue and its concordances, made by hand: one group of each kind, and one that is one record."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from roslin import Collection, Melody
from roslin.concordances.concordance import Concordances
from roslin.concordances.pairs import FoundPairs
from roslin.notation import pae

NASTY = "<script>alert(\"1\")</script> & 'quotes'"
TUNE = "%G-2@c '4CDEF/GAGE/2D'C//"
OTHER = "%G-2@3/4 ''4C8'BAGF/4EGC/2.D//"
THIRD = "%G-2@6/8 '8GAB''C'BA/GFE4.D/8DEFGAB//"
FOURTH = "%G-2@2/4 '4E8DC/4DG/8GFED/2C//"


def _melody(id: str, music: str, composer: str, library: str, title: str = "Salve Regina", **extra: str) -> Melody:
    about = {"siglum": library, "shelfmark": f"Mus. {id}"} | extra
    return pae.read(music).with_metadata(
        id=id,
        title=title,
        composer=composer or None,
        key="C",
        voice="vl 1",
        extra={k: v for k, v in about.items() if v},
    )


def catalogue() -> list[Melody]:
    """Ten melodies. 0 to 3: three attributions of one tune, with a variant and another key; 4 and 5: a name for an
    anonymous source; 6 and 7: two libraries; 8 and 9: one record."""
    return [
        _melody("400-1.1.1", TUNE, "Pergolesi, Giovanni Battista", "D-Dl", catalogue="P 12", work="Salve Regina"),
        _melody("401-1.1.1", "%G-2$xF@c '4GAB''C/DED'B/2AG//", "Anonymus", "I-Nc"),
        _melody("402-1.1.1", "%G-2@c '4CDEF/GA8GF4E/2E'C//", "Leo, Leonardo", "D-Dl", NASTY),
        _melody("403-1.1.1", "%G-2@2/2 '2CDEF/GAGE/1D'C//", NASTY, "", ""),
        _melody("410-1.1.1", OTHER, "Hasse, Johann Adolf", "D-Dl"),
        _melody("411-1.1.1", OTHER, "", "D-Dl"),
        _melody("420-1.1.1", THIRD, "Haydn, Joseph", "CZ-Bu"),
        _melody("421-1.1.1", THIRD, "Haydn, Joseph", "GB-Lbl"),
        _melody("430-1.1.1", FOURTH, "Vogel, Kajetán", "CZ-Bu"),
        _melody("430-1.2.1", FOURTH, "Vogel, Kajetán", "CZ-Bu"),
    ]


def concorded(folder: Path, name: str = "tunes") -> tuple[Collection, Concordances]:
    """The collection, and its concordances in the folder where the pages of a server look for them."""
    opened = Collection.build(catalogue(), folder / f"{name}.roslin")
    ends = [(0, 1), (0, 2), (1, 2), (2, 3), (4, 5), (6, 7), (8, 9)]  # 1 is a copy of 0
    pairs = FoundPairs(
        np.array([first for first, _ in ends]),
        np.array([second for _, second in ends]),
        np.array([0.0, 0.4, 0.4, 0.7, 0.0, 0.0, 0.0]),
        np.array([1e-6, 2.2e-5, 2.2e-5, 8.5e-7, 1e-6, 1e-6, 1e-6]),
        np.array([True, False, False, False, True, True, True]),
        0.5,
        45,
        10,
    )
    found = Concordances(opened, pairs)
    found.write(folder / f"{name}.concordances")
    return opened, found


def related(folder: Path, name: str = "related") -> tuple[Collection, Concordances]:
    """By a radius: one group of three (0, 1, 2) and one of two (4, 5); a pair leads from one to the other, and one to a
    melody that is in no group (6)."""
    opened = Collection.build(catalogue(), folder / f"{name}.roslin")
    ends = {(0, 1): 0.1, (0, 2): 0.1, (1, 2): 0.2, (2, 4): 0.7, (2, 6): 0.8, (4, 5): 0.3}
    pairs = FoundPairs(
        np.array([first for first, _ in ends]),
        np.array([second for _, second in ends]),
        np.array(list(ends.values())),
        np.full(len(ends), np.nan),
        np.zeros(len(ends), dtype=bool),
        1.0,
        90,
        10,
        matcher="dp",
    )
    found = Concordances(opened, pairs)
    found.write(folder / f"{name}.concordances")
    return opened, found
