"""The measures, a family a file; `base` says what a measure is."""
