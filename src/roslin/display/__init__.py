"""How values show themselves: one table for terminals, files, pages and notebooks, one Jinja2 environment.

table      `Table`: columns and rows, as text, HTML, TSV, CSV, JSON, LaTeX or a data frame
text       rows as lines of text
latex      texts and tables for LaTeX
frames     data frames of pandas or polars
deviations what was read otherwise than it was written, in lines
words      the sentences of pages, in the language in use
templates  the environment that makes every page and every piece of HTML
"""
