"""How values are shown: one table for terminals, files, pages and notebooks, one Jinja2 environment.

table      `Table`: columns and rows, as text, HTML, TSV, CSV, JSON, LaTeX or a data frame
text       rows as lines of text, deviations of a reading, numbers of things
words      the sentences of pages, in the language in use
templates  the environment that makes every page and every piece of HTML
"""
