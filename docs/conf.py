"""Sphinx settings: pages in Markdown, a reference made from the program, nothing fetched from elsewhere."""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "Roslin"
author = "The Roslin authors"
copyright = "the Roslin authors, MIT licence"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_design", "roslin_docs"]
exclude_patterns = ["_build", "_examples", "_extensions"]
templates_path = ["_templates"]
suppress_warnings = ["myst.header"]  # a page may begin its second level with a generated heading

# Pages
smartquotes = False  # options begin with two hyphens
highlight_language = "none"
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "tasklist"]
myst_heading_anchors = 4

# The notebook is executed by every build; a cell that fails ends the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_execution_excludepatterns: list[str] = []
nb_merge_streams = True

# The kernel warns that its port is not encrypted; it lives for a minute, on this computer.
_profile = Path(tempfile.mkdtemp(), "profile_default")
_profile.mkdir()
(_profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 'ERROR'\n", encoding="utf-8")
os.environ["IPYTHONDIR"] = str(_profile.parent)

# Reference
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries_show_parents = "hide"

# Addresses of pages that were merged or removed. Each one leads to the page that has its content today.
moved_pages = {
    "concepts/exact-search": "concepts/transport.html#exact-search",
    "concepts/explanation": "howto/python.html#explanation",
    "concepts/index": "concepts/meaning.html",
    "concepts/measures/counts": "concepts/measures/relevance.html#formulas",
    "concepts/measures/curves": "concepts/measures/relevance.html#curves",
    "concepts/measures/gain": "concepts/measures/relevance.html#gain-and-overlap",
    "concepts/measures/index": "howto/evaluate.html#choose-metrics",
    "concepts/measures/overlap": "concepts/measures/relevance.html#overlap",
    "concepts/measures/preference": "concepts/measures/relevance.html#binary-preference",
    "concepts/measures/ranks": "concepts/measures/relevance.html#formulas",
    "concepts/measures/ties": "concepts/measures/significance.html#ties",
    "concepts/names": "howto/python.html#named-values",
    "concepts/objects": "howto/python.html#run",
    "concepts/privacy": "howto/privacy.html",
    "concepts/reading/abc": "concepts/reading/pae.html#abc",
    "concepts/reading/chant": "concepts/reading/pae.html#chant",
    "concepts/reading/midi": "concepts/reading/scores.html#midi",
    "concepts/reading/names": "concepts/reading/index.html#note-names",
    "concepts/run": "howto/python.html#run",
    "concepts/systems": "concepts/matchers.html",
    "concepts/twv": "concepts/transport.html#segments",
    "howto/assistants": "reference/api.html#assistants",
    "howto/browser": "howto/search-page.html",
    "howto/data": "howto/campaign.html#get-public-ground-truths",
    "howto/engraving": "howto/python.html#draw-and-play-melodies",
    "howto/explain": "howto/searching.html#see-why-a-result-was-found",
    "howto/harvest": "howto/marcxml.html#harvest-records-from-a-server",
    "howto/index": "index.html",
    "howto/publish": "howto/server.html#publish-a-page-without-a-server-program",
    "howto/runs": "howto/evaluate.html#run-files",
    "reference/index": "reference/commands.html",
    "tutorials/index": "tutorials/melody.html",
}

# Looks
html_theme = "pydata_sphinx_theme"
html_title = "Roslin"
html_static_path = ["_static"]
html_css_files = ["roslin.css"]
html_favicon = "_static/icon.svg"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"**": ["sections"]}
html_theme_options = {
    "logo": {"text": "Roslin", "image_light": "_static/icon.svg", "image_dark": "_static/icon.svg"},
    "navbar_start": ["navbar-logo"],
    "navbar_center": [],
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "back_to_top_button": False,
    "navigation_with_keys": False,
}
