"""Engines: one module for each way to search a collection with a matcher, which names its engine."""
