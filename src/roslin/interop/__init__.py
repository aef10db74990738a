"""Roslin beside other tools: those of information retrieval, and music21.

ir_bridge  Roslin's measures for ir_measures
datasets   the starter collection for ir_datasets, as `roslin/starter`
music21    streams of music21 as melodies
pyterrier  matchers as transformers, and the starter collection for `pt.get_dataset("roslin:starter")`

`datasets` and `pyterrier` need the extra `pyterrier`, the other two need ir_measures and music21.
"""
