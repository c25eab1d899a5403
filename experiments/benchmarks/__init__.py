"""Benchmarks: scripts that print times and memory, each run as `python -m nodebudget.experiments.NAME`.

`device_verification.py` is no script: it is what `gpu_check` prints of verification by itself.
"""
