"""The tables of Roslin 0.1.0, from which the other steps begin."""

revision = "0001"
down_revision = None
