"""What a verifier is: its law, and what is known of it beyond the law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from nodebudget.lp import Instance
from nodebudget.lp.drafting import Drafting, IidPaths
from nodebudget.lp.drafting.specs import Drafted, as_drafting
from nodebudget.lp.instances.instance import check_instance
from nodebudget.lp.numbers.rationals import Array, shortened

from .drafts.laws import AcceptanceLaw
from .drafts.paths import DraftTree

LawFunction = Callable[[DraftTree], AcceptanceLaw]

Read = TypeVar("Read")


@dataclass(frozen=True)
class Needs:
    """What must be drafted for a verifier to be defined.

    Attributes:
        text: in words, as in "gbv needs i.i.d. paths".
        met: whether a drafting is that.
    """

    text: str
    met: Callable[[Drafting], bool]


IID_PATHS = Needs("i.i.d. paths", lambda drafting: isinstance(drafting, IidPaths))
ANY_DRAFTING = Needs("a drafting", lambda drafting: True)


@dataclass(frozen=True)
class Verifier:
    """A verification algorithm.

    Attributes:
        name: how it is called on the command line and in result files.
        law: the law of (Z, Y) given the drafted tree; its docstring states the algorithm.
        multipath: False for one that looks at the first path only.
        reference: where it comes from, with the statement of the mathematics that it is checked against.
        ordered: False for one whose law does not depend on the order in which the paths were drafted; an exact
            audit of K paths then goes through multisets of paths instead of tuples, and of other draftings through
            trees without copies, on which it may not depend either.
        needs: what must be drafted for it to be defined.
        one_step: for one that walks down by a one-step rule (`algorithms.one_step.Rule`), from a drafted tree to that
            rule; such a verifier can be lifted.
        blind_below: True for one of K paths that does not look at what is drafted below the tokens that it passes
            by, at any node; such a verifier can be recycled.
        pick_path: for one that picks a path by a fixed ranking of all paths and looks at no other, the function
            that picks, as `greedy_multipath.pick_path`; an exact audit can then take any number of paths.
        scores: for one that picks the path with the largest of independent random scores, the function that says
            how they are distributed, as `mixed_multipath.scores`; an exact audit can then take any number of paths.
        one_pass: for one whose node budgets take one pass over an instance's tree, that pass: from an instance
            and K, or any other drafting, to an array (n,), or to None where it would be too large. `budgets` calls it.
    """

    name: str
    law: LawFunction
    multipath: bool
    reference: str
    ordered: bool = True
    needs: Needs = IID_PATHS
    one_step: Callable[[DraftTree], Any] | None = None
    blind_below: bool = False
    pick_path: Callable[[DraftTree], Any] | None = None
    scores: Callable[[DraftTree], tuple[Any, Any, Any]] | None = None
    one_pass: Callable[[Instance, Any], Any] | None = None

    @property
    def about(self) -> str:
        """What it looks at and where it comes from, in a line."""
        looks = (
            "one path" if not self.multipath else "K paths" if self.needs is IID_PATHS else self.needs.text
        )
        return f"{looks}; {self.reference}"

    def __repr__(self) -> str:
        return f"Verifier({shortened(self.name)}, {self.about})"

    def shown(self, instance: Instance, drafted: Drafted) -> Drafting:
        """What it is shown of what is drafted: of K i.i.d. paths under any name these, the first for one path.

        Raises ValueError for what cannot be drafted on the instance, and where the verifier is not defined for it.
        """
        drafting = as_drafting(drafted)
        drafting.check(instance)
        if not self.needs.met(drafting) and (paths := drafting.iid_paths(instance.depth)):
            drafting = IidPaths(paths)
        if not self.needs.met(drafting):
            raise ValueError(f"{self.name} needs {self.needs.text}; got {drafting}")
        return drafting if self.multipath else IidPaths(1)

    def budgets(self, instance: Instance, drafted: Drafted) -> Array:
        """array (n,): Pr[z is a prefix of Z] for every node z of an instance, by one pass over its tree.

        Args:
            instance: exact or float.
            drafted: a number of i.i.d. paths, or any drafting for which the verifier is defined.

        Raises ValueError for a verifier that has no such form (traversal, and users' own), and where the pass would
        be too large; `expected_accepted` and `audit_exact` go through what can be drafted instead.
        """
        check_instance(instance)
        found = self.pass_over(instance, self.shown(instance, drafted))
        if found is None:
            why = "would be too large on this tree" if self.one_pass else "is not known for it"
            raise ValueError(
                f"{self.name}: a single pass over the tree that gives its node budgets {why}; "
                "nodebudget.verifiers.expected_accepted(verifier, instance, paths) gives E|Z|, "
                "nodebudget.verifiers.audit.audit_exact the budgets as well"
            )
        return found

    def pass_over(self, instance: Instance, drafting: Drafting) -> Any:
        """The budgets by one pass over the tree, None where there is no such pass."""
        if self.one_pass is None:
            return None
        return self.one_pass(instance, drafting.paths if isinstance(drafting, IidPaths) else drafting)

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
            what = "paths" if isinstance(tree.drafting, IidPaths) else "nodes"
            raise ValueError(
                f"{self.name} failed on the drafted {what} {tree.nodes.as_text()}: {type(error).__name__}: {error}; "
                "expected the AcceptanceLaw of the tree it was given"
            ) from error
