"""`roslin`, our own measure: a trained alignment of notes (`roslin.py` says what it is)."""
