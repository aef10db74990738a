"""Records of other catalogues, fetched politely: OAI-PMH and SRU, page by page, into files that a collection takes."""

from roslin.harvest.pages import Harvested, OaiList, SruSearch, harvest
from roslin.harvest.polite import PoliteReader

__all__ = ["Harvested", "OaiList", "PoliteReader", "SruSearch", "harvest"]
