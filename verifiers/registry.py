"""The verifiers by name, and users' own by `module:function`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

from nodebudget.lp.instances.arguments import check_kind, described
from nodebudget.lp.instances.tables import Catalogue
from nodebudget.lp.numbers.rationals import shortened
from nodebudget.lp.selection.selections import Selection

from .algorithms import mixed_multipath
from .algorithms.lift import grown_only, lifted
from .algorithms.recycling import recycled
from .drafts.laws import AcceptanceLaw
from .drafts.paths import DraftTree
from .verifier import ANY_DRAFTING, LawFunction, Verifier

FILES = (
    "token_verification",
    "block_verification",
    "greedy_multipath",
    "nss",
    "specinfer",
    "spectr",
    "traversal",
    "mixed_multipath",
)
"""The files in algorithms/ that end with a `VERIFIER`, in the order of tables: a new file is one line here."""

TREE_FILES = ("recursive_rejection", "greedy_tree", "univer", "transport", "spechub", "gumbel_list", "race")
"""Likewise, for verifiers of drafted trees."""


def _catalogue(files: tuple[str, ...]) -> Catalogue[Verifier]:
    found = (import_module(f"{__package__}.algorithms.{file}").VERIFIER for file in files)
    return Catalogue({verifier.name: verifier for verifier in found})


VERIFIERS: Catalogue[Verifier] = _catalogue(FILES)
"""The verifiers of K i.i.d. paths: the published ones, and `mixed`, our own. `nss` is defined for all draftings."""

TREE_VERIFIERS: Catalogue[Verifier] = _catalogue(TREE_FILES)
"""The verifiers of drafted trees, each for the draftings that its `needs` says."""

LIFT = "lift:"
RECYCLE = "recycle:"


def get_verifier(name: str) -> Verifier:
    """A verifier by its name in `VERIFIERS`, or a user's own as "module:function".

    Raises ValueError for an unknown name, and as `load_verifier` does.

    >>> get_verifier("gbv").reference
    'arXiv:2602.16961; statements 6.3 and 6.4'
    """
    check_kind("verifier", name, str, "a name such as 'gbv', or 'module:function' for your own")
    for prefix, wrap in ((LIFT, lift), (RECYCLE, recycle)):
        if name.startswith(prefix):
            return wrap(get_verifier(name.removeprefix(prefix)))
    if ":" in name:
        return load_verifier(name)
    known = {**VERIFIERS, **TREE_VERIFIERS}
    if name not in known:
        raise ValueError(
            f"verifier: got {shortened(name)}; expected one of {', '.join(known)}, lift:NAME, recycle:NAME, or "
            "module:function for your own"
        )
    return known[name]


def lift(verifier: Verifier | str) -> Verifier:
    """The lift of a verifier that walks down by a one-step rule: it decides from the leaves up (statement 14.2).

    Args:
        verifier: the verifier or its name: nss, specinfer, spectr, recursive-rejection, greedy, transport, or a user's
            own that has `Verifier.one_step`.

    The lift needs what is drafted below siblings to be independent: trees grown node by node, or K i.i.d. paths.

    Raises ValueError for a verifier that has no one-step rule.

    >>> lift("greedy").name
    'lift:greedy'
    """
    base = as_verifier(verifier)
    one_step = base.one_step
    if one_step is None:
        raise ValueError(
            f"lift: got {base.name}, which has no one-step rule; expected one of "
            + ", ".join(name for name, each in {**VERIFIERS, **TREE_VERIFIERS}.items() if each.one_step)
        )
    return Verifier(
        f"{LIFT}{base.name}",
        partial(_lifted, one_step),
        multipath=True,
        reference=f"the lift of {base.name}, statement 14.2",
        ordered=True,
        needs=grown_only(base.needs),
    )


def _lifted(one_step: Callable[[DraftTree], Any], tree: DraftTree) -> AcceptanceLaw:
    return lifted(tree, one_step(tree))


def recycle(verifier: Verifier | str) -> Verifier:
    """A verifier of K i.i.d. paths that goes on where its correction token was drafted (`algorithms.recycling`).

    Args:
        verifier: the verifier or its name: token, bv, gbv, or a user's own that has `Verifier.blind_below`. One that
            looks at the first path only goes on with the first other path that has its correction token.

    Raises ValueError for a verifier that may have looked at what was drafted below its correction token: going on there
    would not be lossless.

    >>> recycle("bv").name
    'recycle:bv'
    """
    base = as_verifier(verifier)
    if not base.blind_below:
        raise ValueError(
            f"recycle: got {base.name}, which goes on below every drafted token already, or may have looked at what "
            "was drafted below the one that it emits; expected one of "
            + ", ".join(name for name, each in VERIFIERS.items() if each.blind_below)
        )
    return Verifier(
        f"{RECYCLE}{base.name}",
        partial(recycled, law=base.law),
        multipath=True,
        reference=f"{base.name}, recycled; statements 2.1 and 10.1",
    )


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
        return Verifier(name, verifier, multipath=True, reference="a law function", needs=ANY_DRAFTING)
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
    return replace(
        VERIFIERS["mixed"],
        name=name,
        law=partial(mixed_multipath.law, selection=selection),
        scores=partial(mixed_multipath.scores, selection=selection),
        one_pass=partial(mixed_multipath.budgets, selection=selection),
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
    law = _as_function("verifier", spec, found)
    return Verifier(spec, law, multipath=True, reference=f"user-defined: {spec}", needs=ANY_DRAFTING)


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
        module = import_module(module_name)
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
