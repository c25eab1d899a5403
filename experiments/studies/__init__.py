"""Studies: scripts that make stored results, each run as `python -m nodebudget.experiments.NAME`."""
