"""How values show themselves: one table for terminals, files, pages and notebooks, one Jinja2 environment.

table      `Table`: columns and rows, as text, HTML or a data frame
text       rows as lines of text
frames     data frames of pandas or polars
templates  the environment that makes every page and every piece of HTML
"""
