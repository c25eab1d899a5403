"""Instances: a prefix tree with the target's and the draft's laws, its file format, and random families.

Read first: `instance.py`, then `trees.py`. `laws.py` and `arguments.py` say what is wrong with what a caller gives;
`tables.py` is what every room uses to show something in a notebook.
"""

from .families import FAMILIES, random_instance, random_top_k_instance
from .instance import Instance
from .instance_json import instance_from_json, instance_to_json, load_instance, save_instance
from .trees import PrefixTree

__all__ = [
    "FAMILIES",
    "Instance",
    "PrefixTree",
    "instance_from_json",
    "instance_to_json",
    "load_instance",
    "random_instance",
    "random_top_k_instance",
    "save_instance",
]
