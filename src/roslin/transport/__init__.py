"""The distance of Typke et al. (2007): how much work turns one weighted point set into another.

emd      how far apart two notes are, the Earth Mover's Distance and the proportional transportation distance
align    the transposition, shift and tempo at which the distance is least, by four methods
bounds   what a search needs to leave most melodies out

The functions of these names are `roslin.emd` and `roslin.align`; here the names are those of the modules.
"""

from roslin.transport.align import Alignment, Setting
from roslin.transport.emd import Flow

__all__ = ["Alignment", "Flow", "Setting"]
