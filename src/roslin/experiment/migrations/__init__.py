"""How an older database becomes one of today: a file in `versions` for each step, in the form of Alembic.

A step has a `revision`, the `down_revision` that it follows, and `upgrade`, which changes tables with `alembic.op` and
never imports the tables of `database`: they are those after the last step. A new database has these and no steps.
"""
