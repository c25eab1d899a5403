"""The verifiers by name, and users' own by `module:function`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from nodebudget.lp import Instance
from nodebudget.lp.drafting.iid_paths import check_paths
from nodebudget.lp.instances.arguments import check_kind, described
from nodebudget.lp.instances.instance import check_instance
from nodebudget.lp.instances.tables import Catalogue
from nodebudget.lp.instances.trees import format_context
from nodebudget.lp.numbers.rationals import Array, shortened
from nodebudget.lp.selection.selections import Selection

from .algorithms import (
    block_verification,
    greedy_multipath,
    mixed_multipath,
    nss,
    specinfer,
    spectr,
    token_verification,
    traversal,
)
from .algorithms import node_budgets as budgets
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


VERIFIERS: Catalogue[Verifier] = Catalogue(
    {
        verifier.name: verifier
        for verifier in (
            Verifier(
                "token",
                token_verification.law,
                False,
                "arXiv:2211.17192, arXiv:2302.01318; statement 5.4",
                one_pass=budgets.token_verification,
            ),
            Verifier(
                "bv",
                block_verification.law,
                False,
                "arXiv:2403.10444; statements 5.1 to 5.3",
                one_pass=budgets.block_verification,
            ),
            Verifier(
                "gbv",
                greedy_multipath.law,
                True,
                "arXiv:2602.16961; statements 6.3 and 6.4",
                ordered=False,
                pick_path=greedy_multipath.pick_path,
                one_pass=budgets.greedy_multipath,
            ),
            Verifier(
                "nss",
                nss.law,
                True,
                "arXiv:2305.09781; statement 10.1",
                ordered=False,
                one_pass=budgets.naive_sampling,
            ),
            Verifier(
                "specinfer",
                specinfer.law,
                True,
                "arXiv:2305.09781; statement 10.1",
                one_pass=budgets.spec_infer,
            ),
            Verifier(
                "spectr", spectr.law, True, "arXiv:2310.15141; statement 10.1", one_pass=budgets.spec_tr
            ),
            Verifier("traversal", traversal.law, True, "arXiv:2505.12398; statement 10.1"),
            Verifier(
                "mixed",
                mixed_multipath.law,
                True,
                "this project, on block verification (arXiv:2403.10444); statements 12.1 to 12.4",
                ordered=False,
                scores=mixed_multipath.scores,
                one_pass=budgets.mixed_multipath,
            ),
        )
    }
)
"""The published verifiers, and `mixed`, our own."""


def get_verifier(name: str) -> Verifier:
    """A verifier by its name in `VERIFIERS`, or a user's own as "module:function".

    Raises ValueError for an unknown name, and as `load_verifier` does.

    >>> get_verifier("gbv").reference
    'arXiv:2602.16961; statements 6.3 and 6.4'
    """
    check_kind("verifier", name, str, "a name such as 'gbv', or 'module:function' for your own")
    if ":" in name:
        return load_verifier(name)
    if name not in VERIFIERS:
        raise ValueError(
            f"verifier: got {shortened(name)}; expected one of {', '.join(VERIFIERS)}, or module:function for your own"
        )
    return VERIFIERS[name]


def as_verifier(verifier: Verifier | LawFunction | str) -> Verifier:
    """A verifier as users have it: one of `VERIFIERS` or its name, a `Verifier`, or only its law function.

    A law function is taken for one whose law may depend on all paths and on their order.

    Raises ValueError for anything else, and as `get_verifier` does.
    """
    if isinstance(verifier, Verifier):
        return verifier
    if isinstance(verifier, str):
        return get_verifier(verifier)
    if callable(verifier):
        name = str(getattr(verifier, "__name__", type(verifier).__name__))
        return Verifier(name, verifier, multipath=True, reference="a law function")
    raise ValueError(
        f"verifier: got {described(verifier)}; expected a Verifier, its name, or a function from DraftTree to "
        "AcceptanceLaw"
    )


def mixed_verifier(selection: Selection, name: str = "mixed") -> Verifier:
    """Mixed multi-path block verification with another selection: a node rule and its families of orderings.

    A node rule is any function of on-path numbers (`nodebudget.lp.OnPath`); lossless whatever it says, as long as it
    says the same whenever it is asked about the same numbers (statement 12.1).

    >>> from nodebudget.lp import ratio_ranking
    >>> mixed_verifier(Selection(ratio_ranking), "gbv by scores").name
    'gbv by scores'
    """
    check_kind("selection", selection, Selection, "a Selection, such as Selection(ratio_ranking)")
    return Verifier(
        name,
        partial(mixed_multipath.law, selection=selection),
        True,
        VERIFIERS["mixed"].reference,
        ordered=False,
        scores=partial(mixed_multipath.scores, selection=selection),
        one_pass=partial(budgets.mixed_multipath, selection=selection),
    )


def load_verifier(spec: str) -> Verifier:
    """A user's verifier: a function from `DraftTree` to `AcceptanceLaw`, or a `Verifier`, named as "module:name".

    For "my_verifiers:nothing", a file my_verifiers.py in the current directory:

        from nodebudget.verifiers import AcceptanceLaw, DraftTree

        def nothing(tree: DraftTree) -> AcceptanceLaw:
            # Accept no drafted token and draw the next one from the target: Pr[Z = root, Y = y] = target(y).
            joint = tree.target * 0
            joint[0] = tree.target[0]
            return AcceptanceLaw.from_joint(tree, joint)

    The module is looked for on the Python path and in the current directory. The function should run on
    whatever arrays the tree has; `tree.target` and `tree.draft` of an exact tree hold Fractions.

    Raises ValueError where the name has another form, the module cannot be imported, or it has nothing of the
    kind.
    """
    found = _load("verifier", spec)
    if isinstance(found, Verifier):
        return replace(found, name=spec)
    return Verifier(
        spec, _as_function("verifier", spec, found), multipath=True, reference=f"user-defined: {spec}"
    )


def load_function(what: str, spec: str) -> Callable[..., Any]:
    """A user's function, named as "module:function", from the Python path or the current directory.

    Raises ValueError, beginning with `what`, where the name has another form, the module cannot be imported, or
    it has no such function.
    """
    return _as_function(what, spec, _load(what, spec))


def _load(what: str, spec: str) -> Any:
    """What a module has under a name, None where it has nothing."""
    check_kind(what, spec, str, "a text 'module:function'")
    module_name, _, name = spec.partition(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), name)):
        raise ValueError(f"{what}: got {shortened(spec)}; expected module:function, such as my_{what}s:mine")
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # whatever the user's module does when it is run
        raise ValueError(
            f"{what} {shortened(spec)}: the module {shortened(module_name)} cannot be imported ({error}); "
            "expected one in the current directory or on the Python path"
        ) from error
    return getattr(module, name, None)


def _as_function(what: str, spec: str, found: Any) -> Callable[..., Any]:
    if not callable(found):
        state = "has no" if found is None else "has a value, not a function, called"
        module_name, _, name = spec.partition(":")
        raise ValueError(
            f"{what} {shortened(spec)}: the module {shortened(module_name)} {state} {shortened(name)}"
        )
    function: Callable[..., Any] = found
    return function
