"""A measure: does the list begin well?"""

from dataclasses import dataclass

from roslin import register_measure
from roslin.evaluate import Measure


@register_measure
@dataclass(frozen=True, repr=False)
class FirstGroup(Measure):
    """Whether the list begins well."""

    name = "FirstGroup"
    summary = "1 if the first document is in the first group of the truth, else 0."
    reference = "an example"

    def _values(self, hits):
        in_first_group = hits.group == hits.group_offset[hits.query]
        return hits.per_query(keep=(hits.rank == 1) & in_first_group)
