"""Matchers that count short runs of notes which both melodies have."""
