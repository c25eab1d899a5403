"""Algorithms: one verifier a file, each a function `law(tree)`, fast at any vocabulary.

Read first the same algorithms in `nodebudget.verifiers.plain`, where they are short. Here: `token_verification.py`,
`block_verification.py`, `greedy_multipath.py` (GBV), `nss.py`, `specinfer.py`, `spectr.py`, `traversal.py`,
`mixed_multipath.py`; what they share is in `single_path.py` (laws along one path), `topdown.py` (walks from the
root), `picked.py` (the picked path) and `score_contest.py`. A file ends with its `VERIFIER`, which the registry shows
by name. Where node budgets take one pass over an instance the file has them as `budgets`; `survivors.py` is that pass
for walks from the root.
"""
