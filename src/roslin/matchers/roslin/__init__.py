"""`roslin`, our own matcher: a trained alignment of notes (`roslin.py` describes it)."""
