"""Many melodies on disk: build, read, filter, check, export.

files    the folder and how a new state replaces an old one
write    build, add, remove
report   what came of a build or an add
store    reading
filters  features of paper 002 as SQL and sentences
check    integrity
export   JSON Lines, Plaine & Easie, Parquet
"""
