"""Campaigns: many systems, the same queries, one report.

campaign       asks every system every query and evaluates the lists
questions      the queries and truths of a campaign, checked before the first search
resume         the lists that are finished, kept on disk
fitting        members and weights of a fusion, fitted with cross-validation
made_queries   queries with known mistakes, after MIREX 2007
"""

from __future__ import annotations

from roslin.campaign.campaign import CAMPAIGN_MEASURES, DEPTH, Campaign, System, run_campaign
from roslin.campaign.made_queries import make_queries

__all__ = ["CAMPAIGN_MEASURES", "DEPTH", "Campaign", "System", "make_queries", "run_campaign"]
