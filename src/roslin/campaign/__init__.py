"""Campaigns: many systems, the same queries, one report.

campaign       every query to every system, the evaluation of the lists, and their provenance
asking         the queries and truths, checked before the first search; one list; lists that are finished, on disk
tables         standings, pairs, ties, times and disagreements
fitting        members and weights of a fusion, fitted with cross-validation
made_queries   queries with known mistakes, after MIREX 2007
"""

from __future__ import annotations

from roslin.campaign.campaign import CAMPAIGN_MEASURES, DEPTH, Campaign, System, run_campaign
from roslin.campaign.made_queries import make_queries

__all__ = ["CAMPAIGN_MEASURES", "DEPTH", "Campaign", "System", "make_queries", "run_campaign"]
