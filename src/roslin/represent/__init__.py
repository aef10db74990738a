"""Melody to what algorithms eat: one line of notes, strings of letters, numbers that describe it."""
