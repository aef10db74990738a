"""Where the real data lies: the folder named by ROSLIN_DATA, by default ../shared/data beside the project."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["DATA", "FRAGMENTS", "INCIPITS"]

DATA = Path(os.environ.get("ROSLIN_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
INCIPITS = DATA / "rism" / "incipits.jsonl.gz"
FRAGMENTS = DATA / "scale" / "fragments_500k.npz"
