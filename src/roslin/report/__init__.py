"""Documents: one module each, which collects values and renders one template of `templates/`.

results         the list of a search
explanation     why a melody is as near to a query as it is; `flow` is the picture, `ties` its lines
evaluation      runs against a truth
campaign        systems on the same queries, as a page and as a text
truth           a ground truth; `truth_drawing` and `truth_latex` are the same for slides and papers
concordances    groups of sources that are the same tune; `tune_groups` says what a group tells, `synopsis` draws
                melodies one under the other, `variants` compares two of them note by note
document        what every page shares; figures of melodies are in `player`
svg             the one way to draw; `plots` of systems and `rank_plots` of experts' ranks
"""
