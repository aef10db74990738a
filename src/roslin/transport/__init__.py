"""The distance of paper 002: how much work turns one weighted point set into another.

ground   how far apart two notes are
emd      the Earth Mover's Distance and the proportional transportation distance
align    the transposition, shift and tempo at which the distance is least
methods  the alignments that go beyond coincidences
"""

from roslin.transport.align import Alignment, Setting, align
from roslin.transport.emd import Flow, emd, emd_flow, emd_many, ptd, ptd_flow, ptd_many

__all__ = ["Alignment", "Flow", "Setting", "align", "emd", "emd_flow", "emd_many", "ptd", "ptd_flow", "ptd_many"]
