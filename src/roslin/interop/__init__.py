"""Roslin beside the tools of information retrieval: its starter collection as a data set, its matchers as retrievers.

datasets   the starter collection for ir_datasets, as `roslin/starter`
pyterrier  matchers as transformers, and the same data for `pt.get_dataset("roslin:starter")`

Both need the extra `pyterrier`; nothing else in Roslin does.
"""
