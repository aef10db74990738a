"""Matchers by transportation distance: `emd` moves the whole query, `twv` and `twv_covered` its segments."""
