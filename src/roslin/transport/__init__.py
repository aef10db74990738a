"""The distance of paper 002: how much work turns one weighted point set into another.

ground   how far apart two notes are
emd      the Earth Mover's Distance and the proportional transportation distance
align    the transposition, shift and tempo at which the distance is least
"""

from roslin.transport.emd import Flow, emd, emd_flow, emd_many, ptd, ptd_flow, ptd_many

__all__ = ["Flow", "emd", "emd_flow", "emd_many", "ptd", "ptd_flow", "ptd_many"]
