"""What is run: the commands, theorem checks, sweeps, studies and benchmarks. `nodebudget --help` lists the commands.

Read first: `cli.py`, then `commands/`, one file a command. `checks/` has the theorem checks, `sweep/` and
`optimality/` the two ways to measure verifiers against the optimum, `pairs/` decoding with real pairs of models,
`storage/` the files that results are kept in. `studies/` and `benchmarks/` are scripts, run as
`python -m nodebudget.experiments.NAME`.
"""

from pathlib import Path

# So that a script can be run by its name alone, whichever of the two rooms it is in.
__path__ = [*__path__, *(str(Path(__path__[0], room)) for room in ("studies", "benchmarks"))]
