"""Commands: one file for each command of `nodebudget`; `options.py` has the options they share."""
