"""Commands: one file for each command of `nodebudget`, in the order of `nodebudget --help`.

A command's file has the command, which reads options, calls one function and prints, and an `EXAMPLE` that ends its
help. `options.py` has the options that several commands share, `answers.py` how they answer. Importing them is cheap:
what is heavy is imported when a command runs.
"""

from . import audit, audit_sampler, bound, check, contexts, decode, distill, figures, optimality, sweep

COMMANDS = {
    "bound": bound,
    "audit": audit,
    "audit-sampler": audit_sampler,
    "check": check,
    "distill": distill,
    "decode": decode,
    "contexts": contexts,
    "optimality": optimality,
    "sweep": sweep,
    "figures": figures,
}
"""The module of each command; the command itself is the function of the same name."""
