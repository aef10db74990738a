"""Documents: each module collects values and renders one template of `templates/`."""
