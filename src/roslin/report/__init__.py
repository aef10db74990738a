"""Documents: modules that collect values and render one template of `templates/`.

document        the frame of every page; the pages of a search and of an explanation
flow            the picture of an explanation
evaluation      runs against a truth
campaign        systems on the same queries, as a page and as a text
truth           a ground truth as a page, CSV, a drawing and LaTeX
concordances    groups of sources that are the same tune; `tune_groups` has the words and lines of a group, `synopsis`
                draws melodies one under the other, `variants` compares two of them note by note
player          figures of melodies that can be played, with a piano roll where notation fails
svg             the elements of all drawings; `plots` of systems and of experts' ranks
"""
