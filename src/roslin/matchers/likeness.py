"""The explanation of a distance that a matcher does not take apart: one step has all of it.

As an aid to the eye, it says how `dp` would lay the query into the candidate. That is not how the matcher measures.
"""

from __future__ import annotations

from roslin.display.words import _, continued
from roslin.matchers.base import Matcher
from roslin.matchers.edit.dp import DP
from roslin.matchers.explanation import Explanation, Step
from roslin.melody import Melody
from roslin.represent.packed import Packed

_AID = DP(place="inside")


def likeness(chosen: Matcher, query: Melody, candidates: Packed, number: int, distance: float) -> Explanation:
    """The explanation of a candidate with notes at this distance."""
    candidate = candidates.melody(number)
    if len(query) * len(candidate) > _AID.pairs_explained:
        sentence = _("The two are too long to be laid side by side.")
        return Explanation(chosen, "likeness", query, candidate, 0.0, (_whole(chosen, distance, None),), sentence)
    aid = _AID.explain(query, [candidate])
    sentence = _("As an aid to the eye, {sentence}").format(sentence=continued(aid.sentence))
    return Explanation(
        chosen,
        "likeness",
        query,
        candidate,
        0.0,
        (_whole(chosen, distance, aid),),
        sentence,
        aid.transformation,
        aid.transposition,
        aid.tempo,
        aid.place,
    )


def _whole(chosen: Matcher, distance: float, aid: Explanation | None) -> Step:
    return Step("whole", cost=distance, words=_("{matcher} as a whole").format(matcher=repr(chosen)), within=aid)
