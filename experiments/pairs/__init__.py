"""Pairs: decoding with real pairs of models, its tables, and the training of a draft."""
