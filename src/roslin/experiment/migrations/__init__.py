"""How an older database becomes one of today: a file in `versions` for each step, in the form of Alembic.

A step has a `revision`, the `down_revision` that it follows, and `upgrade`, which changes tables with `alembic.op` and
never imports `schema`: that is where all steps end, not where one of them did. `database` goes through them.
"""
