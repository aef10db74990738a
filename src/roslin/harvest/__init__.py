"""Records of other catalogues, fetched politely: OAI-PMH and SRU, page by page, into files that a collection takes."""

from roslin.harvest.pages import Harvested, OaiList, SruSearch, harvest
from roslin.harvest.polite import Reader

__all__ = ["Harvested", "OaiList", "Reader", "SruSearch", "harvest"]
