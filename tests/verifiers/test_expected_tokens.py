"""E|Z| of a verifier: by one pass, by enumeration, and what is said where neither can be done."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from typing import Any

import drafted_tuples
import numpy as np
import pytest
from nodebudget.lp import Instance, accepted_tokens, random_instance
from nodebudget.lp.instances import progress as progress_module
from nodebudget.verifiers import VERIFIERS, AcceptanceLaw, DraftTree, Verifier, expected_accepted
from nodebudget.verifiers.audit import audit_exact

INSTANCE = random_instance("flat", 3, 2, seed=11, zeros=0.2)


@pytest.mark.parametrize("name", VERIFIERS)
def test_it_is_the_mean_over_all_that_can_be_drafted(name: str) -> None:
    verifier = VERIFIERS[name]
    wanted = drafted_tuples.accepted_tokens(verifier.law, INSTANCE, 2)
    found = expected_accepted(name, INSTANCE, 2)
    assert type(found) is Fraction
    assert found == wanted == audit_exact(name, INSTANCE, 2).accepted_tokens
    rounded = expected_accepted(verifier, INSTANCE.to_float(), 2)
    assert type(rounded) is float
    assert rounded == pytest.approx(float(wanted), abs=1e-12)


def test_one_more_path_is_another_number() -> None:
    """The comparison above can fail."""
    assert expected_accepted("traversal", INSTANCE, 1) < expected_accepted("traversal", INSTANCE, 2)


@pytest.mark.parametrize("ordered", [True, False])
def test_without_one_pass_what_is_drafted_is_gone_through(ordered: bool) -> None:
    """GBV does not look at the order of paths: multisets give the same number as tuples, and as its one pass."""
    gbv = VERIFIERS["gbv"]
    enumerated = Verifier("enumerated", gbv.law, True, "no budgets", ordered=ordered)
    assert expected_accepted(enumerated, INSTANCE, 2) == accepted_tokens(gbv.budgets(INSTANCE, 2))


def test_a_pass_that_would_be_too_large_is_replaced_by_enumeration() -> None:
    nss = VERIFIERS["nss"]
    too_large = Verifier("nss", nss.law, True, "too large", ordered=False, one_pass=lambda *_: None)
    assert expected_accepted(too_large, INSTANCE, 2) == expected_accepted("nss", INSTANCE, 2)


def first_token_or_nothing(tree: DraftTree) -> AcceptanceLaw:
    """Accept the first drafted token of the first path, always: lossless or not, E|Z| = 1."""
    joint = tree.target * 0
    node = int(tree.nodes.path_nodes[0, 1])
    joint[node] = tree.target[node]
    return AcceptanceLaw.from_joint(tree, joint)


@pytest.mark.parametrize("instance", [INSTANCE, INSTANCE.to_float()])
def test_a_law_function_alone(instance: Instance) -> None:
    assert expected_accepted(first_token_or_nothing, instance, 2) == pytest.approx(1, abs=1e-12)


def test_a_verifier_of_one_path_is_shown_one() -> None:
    single = Verifier("single", VERIFIERS["bv"].law, multipath=False, reference="block verification")
    assert expected_accepted(single, INSTANCE, 10_000) == expected_accepted("bv", INSTANCE, 1)


def test_too_many_tuples() -> None:
    instance = random_instance("flat", 4, 2, seed=1)
    with pytest.raises(ValueError, match=r"5 paths .* in 1048576 ways; at most 250000 .*draw_paths"):
        expected_accepted("traversal", instance, 5)
    # 16 ** 10000 has more digits than Python writes.
    with pytest.raises(ValueError, match=re.escape(f"about 1e{int(10000 * 4 * math.log10(2))}")):
        expected_accepted("traversal", instance, 10_000)


def test_a_sparse_instance_has_one_pass_or_a_hint() -> None:
    full = random_instance("flat", 4, 2, seed=4, zeros=0.4)
    sparse = full.prune()
    assert len(sparse.tree) < len(full.tree)
    assert expected_accepted("gbv", sparse, 2) == expected_accepted("gbv", full, 2)
    with pytest.raises(ValueError, match=r"traversal: .* this instance is sparse .*draw_paths"):
        expected_accepted("traversal", sparse, 2)


def test_the_hint_works() -> None:
    """The mean over random drafts, as the messages advise, is within five standard errors."""
    instance, verifier = INSTANCE.to_float(), VERIFIERS["traversal"]
    times = Counter(str(pair.tolist()) for pair in instance.draw_paths(8000, seed=0).reshape(4000, 2, 2))
    values = np.array(
        [
            verifier.law(DraftTree.from_instance(instance, json.loads(pair))).expected_accepted
            for pair in times
        ]
    )
    shares = np.array(list(times.values())) / 4000
    mean = float(values @ shares)
    error = float(((values - mean) ** 2 @ shares / 4000) ** 0.5)
    assert abs(mean - expected_accepted(verifier, instance, 2)) <= 5 * error
    assert abs(mean - expected_accepted(verifier, instance, 1)) > 5 * error  # the comparison can fail


@pytest.mark.parametrize(
    ("verifier", "instance", "paths", "said"),
    [
        (3, INSTANCE, 2, "verifier: got the int 3; expected a Verifier, its name, or a function"),
        ("block", INSTANCE, 2, "verifier: got 'block'; expected one of token, bv"),
        ("bv", "x", 2, "instance: got the str 'x'; expected an Instance"),
        ("bv", INSTANCE.tree, 2, r"instance: got PrefixTree\(.*; expected an Instance"),
        ("bv", INSTANCE, "x", "paths: got 'x'; expected an integer of at least 1"),
        ("bv", INSTANCE, 0, "paths: got 0"),
    ],
)
def test_arguments_of_another_kind(verifier: Any, instance: Any, paths: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        expected_accepted(verifier, instance, paths)


def another_tree(tree: DraftTree) -> AcceptanceLaw:
    return VERIFIERS["bv"].law(DraftTree.from_instance(INSTANCE, [[0, 0]]))


@pytest.mark.parametrize("law", [lambda tree: None, lambda tree: 1 / 0, another_tree])
def test_a_law_function_that_fails_is_named_with_what_it_was_shown(law: Any) -> None:
    with pytest.raises(
        ValueError, match=r"broken failed on the drafted paths \d,\d \| \d,\d: .*AcceptanceLaw"
    ):
        expected_accepted(Verifier("broken", law, True, "a negative control"), INSTANCE, 2)


class Watched:
    """A stream like a terminal, or like none."""

    def __init__(self, terminal: bool) -> None:
        self.terminal = terminal
        self.text = ""

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        """Nothing is kept back."""


@pytest.mark.parametrize(
    ("stream", "delay", "appears"),
    [
        (Watched(True), 0, True),
        (Watched(True), 1000, False),
        (Watched(False), 0, False),
        (type("OutStream", (Watched,), {"__module__": "ipykernel.iostream"})(False), 0, True),
    ],
    ids=["a terminal", "short", "a log", "a notebook"],
)
@pytest.mark.parametrize("judge", [expected_accepted, audit_exact])
def test_progress_appears_where_somebody_waits(
    judge: Any, stream: Watched, delay: float, appears: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream.text = ""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress_module, "SILENT_SECONDS", delay)
    judge("traversal", INSTANCE, 2)
    assert bool(stream.text) is appears


def test_the_verifiers_are_imported_without_what_they_do_not_need() -> None:
    code = (
        "import sys, nodebudget.verifiers; print(*sorted({'joblib', 'pandas', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
