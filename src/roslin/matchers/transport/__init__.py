"""Matchers by transportation distance: `emd` moves the whole query, `twv` its segments."""
