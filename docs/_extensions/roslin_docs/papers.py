"""Citations: a docstring names a paper by its number, and the site names it by author and year, with a link."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

from roslin_docs.docstrings import cited

_MENTION = re.compile(r"\b[Pp]apers? 00[0-4](?:(?:, | and |, and )00[0-4])*")
_LEFT_ALONE = (nodes.reference, nodes.literal, nodes.literal_block, nodes.title, addnodes.pending_xref, nodes.raw)


class CitePapers(SphinxTransform):
    """Turn "paper 002" into a link "Typke et al. (2007)", and "papers 002 and 004" into two."""

    default_priority = 400  # after the parts of a page are put together, before its links are looked up

    def apply(self) -> None:
        """Go through the texts of a page."""
        for text in list(self.document.findall(nodes.Text)):
            if _MENTION.search(text) and not _inside(text):
                text.parent.replace(text, self._cited(str(text)))

    def _cited(self, text: str) -> list[nodes.Node]:
        parts: list[nodes.Node] = []
        end = 0
        for mention in _MENTION.finditer(text):
            parts.append(nodes.Text(text[end : mention.start()]))
            for position, words in enumerate(cited(mention[0])):
                parts += [nodes.Text(" and " if position else ""), self._link(words)]
            end = mention.end()
        return [*parts, nodes.Text(text[end:])]

    def _link(self, words: str) -> nodes.Node:
        return addnodes.pending_xref(
            "", nodes.inline(words, words),
            refdomain="std", reftype="doc", reftarget="/cite", refdoc=self.env.docname, refexplicit=True, refwarn=True,
        )  # fmt: skip


def _inside(node: nodes.Node) -> bool:
    while node.parent is not None:
        node = node.parent
        if isinstance(node, _LEFT_ALONE):
            return True
    return False
