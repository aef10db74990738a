"""The ways to compare, called by what they do. Their exact names are for researchers, and for addresses."""

from __future__ import annotations

from roslin.display.words import N_, _
from roslin.matchers import Matcher

METHODS = {
    "roslin": N_("Same tune, any key and tempo (recommended)"),
    "dp": N_("Same intervals in a row, rhythm ignored"),
    "dp(place='inside')": N_("Same intervals somewhere in the melody, rhythm ignored"),
    "lcts": N_("Same notes in the same order, others between them allowed"),
    "alignment": N_("Note beside note, near pitches half alike"),
    "mongeau_sankoff": N_("Pitches and lengths, notes split or joined"),
    "gam": N_("Same turns from interval to interval"),
    "shapeh": N_("Same ups and downs, rare turns first"),
    "time": N_("Same curves of pitch and length"),
    "shapetime": N_("Same ups and downs, then rhythm"),
    "emd": N_("Pitches at similar moments, the whole melody at once"),
    "twv": N_("Pitches at similar moments, passage by passage"),
    "twv_covered": N_("Pitches at similar moments, passages in one tempo"),
    "orio": N_("Short figures in common, exact or rough"),
    "us": N_("Figures of five intervals in common"),
    "rismonline": N_("All intervals exactly, one after the other"),
    "p1": N_("Every note exactly at its moment, any key"),
    "p2": N_("Most notes exactly at their moment, any key"),
    "p3": N_("Same pitches sounding for the longest time, any key"),
    "fm": N_("Intervals, rough rhythm and harmony together"),
    "ngrsumco": N_("Figures of three intervals in common, however often"),
    "ngrukkon": N_("Figures of three intervals, common and not"),
    "diffed": N_("Intervals inserted, left out or changed"),
    "rawed": N_("Notes inserted, left out or changed, best key"),
    "rhytfuzz": N_("Rough rhythm, pitch ignored"),
    "harmcore": N_("Harmony that each bar suggests"),
}


def method_words(matcher: Matcher) -> str:
    """What a matcher does, in a few words. One with other parameters says so; one of somebody else has its summary.

    >>> from roslin import matcher
    >>> method_words(matcher("us")), method_words(matcher("us(n=4)"))
    ('Figures of five intervals in common', 'Figures of five intervals in common, with other parameters')
    """
    if words := METHODS.get(repr(matcher)):
        return _(words)
    if words := METHODS.get(matcher.name):
        return _("{method}, with other parameters").format(method=_(words))
    return _(matcher.summary) or repr(matcher)
