"""Links from every mention of a paper to its page."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

_MENTION = re.compile(r"\b[Pp]apers? 00[0-4](?:(?:, | and |, and )00[0-4])*")
_NUMBER = re.compile(r"(?:[Pp]apers? )?00([0-4])")
_LEFT_ALONE = (nodes.reference, nodes.literal, nodes.literal_block, nodes.title, addnodes.pending_xref, nodes.raw)


class LinkPapers(SphinxTransform):
    """Turn "paper 002" into a link to papers/002, and "papers 000 and 002" into two."""

    default_priority = 400  # after the parts of a page are put together, before its links are looked up

    def apply(self) -> None:
        """Go through the texts of a page."""
        for text in list(self.document.findall(nodes.Text)):
            if _MENTION.search(text) and not _inside(text):
                text.parent.replace(text, self._linked(str(text)))

    def _linked(self, text: str) -> list[nodes.Node]:
        parts: list[nodes.Node] = []
        end = 0
        for mention in _MENTION.finditer(text):
            for number in _NUMBER.finditer(text, mention.start(), mention.end()):
                parts += [nodes.Text(text[end : number.start()]), self._link(number[0], number[1])]
                end = number.end()
        return [*parts, nodes.Text(text[end:])]

    def _link(self, words: str, digit: str) -> nodes.Node:
        page = f"/papers/00{digit}"
        return addnodes.pending_xref(
            "", nodes.inline(words, words),
            refdomain="std", reftype="doc", reftarget=page, refdoc=self.env.docname, refexplicit=True, refwarn=True,
        )  # fmt: skip


def _inside(node: nodes.Node) -> bool:
    while node.parent is not None:
        node = node.parent
        if isinstance(node, _LEFT_ALONE):
            return True
    return False
