"""Roslin beside other tools: those of information retrieval, and music21.

datasets   the starter collection for ir_datasets, as `roslin/starter`
music21    streams of music21 as melodies
pyterrier  matchers as transformers, and the starter collection for `pt.get_dataset("roslin:starter")`

The first and the last need the extra `pyterrier`, the other one music21; nothing else in Roslin does.
"""
