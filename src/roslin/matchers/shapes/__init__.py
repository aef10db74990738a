"""Matchers that align the shapes of short groups of notes, after MelodyShape."""
