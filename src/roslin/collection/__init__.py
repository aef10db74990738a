"""Many melodies on disk: build, read, filter, check, export.

files     the folder, how a new state replaces an old one, locks and sealed files
arrays    named arrays in one file, and the checks before anything trusts the arrays of a collection
sources   files, folders and melodies, read record by record
write     build, add, remove; `preparation`: the state in preparation; `report`: what came of it
store     reading, and checking that a collection is whole
folding   texts and dates as filters compare them
filters   features of Typke et al. (2007) as SQL and sentences
facets    the composers, keys, libraries and dates of a list, with their counts
export    JSON Lines, Plaine & Easie, Parquet
"""
