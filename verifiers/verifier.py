"""What a verifier is: its law, and what is known of it beyond the law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from nodebudget.lp import Instance
from nodebudget.lp.drafting.iid_paths import check_paths
from nodebudget.lp.instances.instance import check_instance
from nodebudget.lp.instances.trees import format_context
from nodebudget.lp.numbers.rationals import Array, shortened

from .drafts.laws import AcceptanceLaw
from .drafts.paths import DraftTree

LawFunction = Callable[[DraftTree], AcceptanceLaw]

Read = TypeVar("Read")


@dataclass(frozen=True)
class Verifier:
    """A verification algorithm.

    Attributes:
        name: how it is called on the command line and in result files.
        law: the law of (Z, Y) given the drafted paths; its docstring states the algorithm.
        multipath: False for one that looks at the first path only.
        reference: where it comes from, with the statement of the mathematics that it is checked against.
        ordered: False for one whose law does not depend on the order in which the paths were drafted; an exact
            audit then goes through multisets of paths instead of tuples.
        pick_path: for one that picks a path by a fixed ranking of all paths and looks at no other, the function
            that picks, as `greedy_multipath.pick_path`; an exact audit can then take any number of paths.
        scores: for one that picks the path with the largest of independent random scores, the function that says
            how they are distributed, as `mixed_multipath.scores`; an exact audit can then take any number of paths.
        one_pass: for one whose node budgets take one pass over an instance's tree, that pass: from an instance
            and K to an array (n,), or to None where it would be too large. `budgets` calls it.
    """

    name: str
    law: LawFunction
    multipath: bool
    reference: str
    ordered: bool = True
    pick_path: Callable[[DraftTree], Any] | None = None
    scores: Callable[[DraftTree], tuple[Any, Any, Any]] | None = None
    one_pass: Callable[[Instance, int], Any] | None = None

    @property
    def about(self) -> str:
        """What it looks at and where it comes from, in a line."""
        return f"{'K paths' if self.multipath else 'one path'}; {self.reference}"

    def __repr__(self) -> str:
        return f"Verifier({shortened(self.name)}, {self.about})"

    def budgets(self, instance: Instance, paths: int) -> Array:
        """array (n,): Pr[z is a prefix of Z] for every node z of an instance, by one pass over its tree.

        Raises ValueError for a verifier that has no such form (traversal, and users' own), and where the pass would
        be too large; `expected_accepted` and `audit_exact` go through what can be drafted instead.
        """
        check_instance(instance)
        check_paths(paths)
        found = self.one_pass(instance, paths) if self.one_pass else None
        if found is None:
            why = "would be too large on this tree" if self.one_pass else "is not known for it"
            raise ValueError(
                f"{self.name}: a single pass over the tree that gives its node budgets {why}; "
                "nodebudget.verifiers.expected_accepted(verifier, instance, paths) gives E|Z|, "
                "nodebudget.verifiers.audit.audit_exact the budgets as well"
            )
        return found

    def ask(self, tree: DraftTree, read: Callable[[AcceptanceLaw], Read]) -> Read:
        """What `read` makes of the law on a drafted tree.

        Raises ValueError, which names the verifier and the drafted paths, where a user's law function fails or
        returns something else than the `AcceptanceLaw` of the tree it was given.
        """
        try:
            law = self.law(tree)
            if not isinstance(law, AcceptanceLaw) or law.tree is not tree:
                raise TypeError(f"got {type(law).__name__}")
            return read(law)
        except (Exception, SystemExit) as error:  # whatever a user's function does
            nodes = tree.nodes
            drafted = " | ".join(format_context(nodes.path(int(path[-1]))) for path in nodes.path_nodes)
            raise ValueError(
                f"{self.name} failed on the drafted paths {drafted}: {type(error).__name__}: {error}; "
                "expected the AcceptanceLaw of the tree it was given"
            ) from error
