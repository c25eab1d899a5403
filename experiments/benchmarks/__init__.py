"""Benchmarks: scripts that print times and memory, each run as `python -m nodebudget.experiments.NAME`."""
