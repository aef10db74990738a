"""Matchers that lay the query onto the candidate in the plane of time and pitch."""
