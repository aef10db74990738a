"""Matchers that edit one melody into the other: what it costs to insert, delete and change notes or structures."""
