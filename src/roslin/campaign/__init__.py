"""Campaigns: many matchers, the same queries, one report."""

from __future__ import annotations

from roslin.campaign.campaign import CAMPAIGN_MEASURES, DEPTH, Campaign, System, run_campaign
from roslin.campaign.made_queries import make_queries

__all__ = ["CAMPAIGN_MEASURES", "DEPTH", "Campaign", "System", "make_queries", "run_campaign"]
