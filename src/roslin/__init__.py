"""Roslin finds melodies that resemble each other, and measures how well anything finds them."""
