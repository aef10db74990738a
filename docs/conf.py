"""Sphinx settings: pages in Markdown, nothing fetched from elsewhere."""

project = "Roslin"
extensions = ["myst_parser"]
html_theme = "alabaster"
html_theme_options = {"description": "Melodies that resemble each other", "font_family": "Georgia, serif"}
myst_heading_anchors = 3
exclude_patterns = ["_build"]
