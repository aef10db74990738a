"""Numba kernel of `gam`: an edit distance that may also join several structures, and split one."""

from __future__ import annotations

import numpy as np

from roslin.kernels import kernel
from roslin.matchers.edit._arguments import Array, LabelledStrings, Numbers, StructureCosts

__all__ = ["structure_distances"]


@kernel
def structure_distances(
    query: LabelledStrings, documents: LabelledStrings, offsets: Numbers, prices: StructureCosts
) -> Array:
    """The least cost of turning the query's structures into those of each candidate.

    Those of candidate k are `offsets[k]` to `offsets[k + 1]`.
    """
    query_label, query_size, query_direction, query_overlap = query
    label, size, direction, overlap = documents
    label_costs, of_size, of_direction, of_overlap = prices.labels, prices.size, prices.direction, prices.overlap
    deletion, insertion, replacement = prices.deletion, prices.insertion, prices.replacement
    consolidation, fragmentation, joined = prices.consolidation, prices.fragmentation, prices.joined
    m, most = len(query_label), 0
    for k in range(len(offsets) - 1):
        most = max(most, offsets[k + 1] - offsets[k])
    distances, costs = np.empty(len(offsets) - 1), np.empty((m + 1, most + 1))
    # What label and direction of a pair cost; consolidation and fragmentation add it up.
    pair = np.empty((m, most))
    costs[0, 0] = 0.0
    for i in range(m):
        costs[i + 1, 0] = costs[i, 0] + deletion * query_size[i]
    for k in range(len(offsets) - 1):
        first, n = offsets[k], offsets[k + 1] - offsets[k]
        for j in range(n):
            costs[0, j + 1] = costs[0, j] + insertion * size[first + j]
        for i in range(m):
            for j in range(n):
                turned = abs(query_direction[i] - direction[first + j])
                pair[i, j] = label_costs[query_label[i], label[first + j]] + of_direction * turned
                closed = of_overlap * abs(query_overlap[i] - overlap[first + j])
                least = min(
                    costs[i, j + 1] + deletion * query_size[i],
                    costs[i + 1, j] + insertion * size[first + j],
                    costs[i, j] + replacement * (pair[i, j] + closed + of_size * abs(query_size[i] - size[first + j])),
                )
                # Structures before this one are joined with it, one more at a time.
                total, notes = pair[i, j], query_size[i]
                for back in range(1, min(joined, i + 1)):
                    total += pair[i - back, j]
                    notes += query_size[i - back]
                    whole = total + closed + of_size * abs(notes - size[first + j])
                    least = min(least, costs[i - back, j] + consolidation * whole)
                total, notes = pair[i, j], size[first + j]
                for back in range(1, min(joined, j + 1)):
                    total += pair[i, j - back]
                    notes += size[first + j - back]
                    whole = total + closed + of_size * abs(query_size[i] - notes)
                    least = min(least, costs[i, j - back] + fragmentation * whole)
                costs[i + 1, j + 1] = least
        distances[k] = costs[m, n]
    return distances
