"""The JSON format of instances, both ways, and every way in which a file can be wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from nodebudget.lp import Instance, instance_from_json, instance_to_json, load_instance, save_instance
from nodebudget.lp import random_instance as drawn
from nodebudget.lp.numbers.rationals import exact_array, format_rational, parse_rational
from strategies import CASES, exact_instances, motivating, some

F = Fraction


def assert_same(first: Instance, second: Instance) -> None:
    assert first.exact == second.exact
    assert (first.vocab, first.depth) == (second.vocab, second.depth)
    assert first.tree.parent.tolist() == second.tree.parent.tolist()
    assert first.tree.token.tolist() == second.tree.token.tolist()
    for node in range(len(first.tree)):
        assert first.target_law(node).tolist() == second.target_law(node).tolist()
        if node not in first.tree.leaves:
            assert first.draft_law(node).tolist() == second.draft_law(node).tolist()
    assert (first.leaf_target is None) == (second.leaf_target is None)


def document() -> dict[str, Any]:
    return {
        "vocab": 2,
        "depth": 2,
        "target": {"": ["1/3", "2/3"], "0": ["1/2", "1/2"], "1": ["1", "0"]},
        "draft": {"": ["2/3", "1/3"], "0": ["1/4", "3/4"], "1": ["1/2", "1/2"]},
    }


def write(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "instance.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_the_written_form_is_the_documented_one() -> None:
    target = {(): [F(1, 3), F(2, 3)], (0,): [F(1, 2), F(1, 2)], (1,): [F(1), F(0)]}
    draft = {(): [F(2, 3), F(1, 3)], (0,): [F(1, 4), F(3, 4)], (1,): [F(1, 2), F(1, 2)]}
    assert instance_to_json(Instance.from_laws(2, 2, target, draft)) == document()


@some
@given(exact_instances())
def test_exact_instances_go_both_ways(instance: Instance) -> None:
    for one in (instance, instance.prune()):
        text = json.dumps(instance_to_json(one))
        assert_same(instance_from_json(json.loads(text)), one)


@pytest.mark.parametrize("family", ["flat", "iid", "markov", "identical", "logits"])
def test_files_go_both_ways_with_their_bonus_laws(family: str, tmp_path: Path) -> None:
    instance = drawn(family, 3, 2, seed=1, zeros=None if family == "logits" else 0.3)
    path = tmp_path / "instance.json"
    for one in (instance, instance.prune()):
        save_instance(one, path)
        assert_same(load_instance(path), one)
    assert [p.name for p in tmp_path.iterdir()] == ["instance.json"], "a temporary file was left behind"


def test_peaked_floats_go_both_ways_bit_for_bit(tmp_path: Path) -> None:
    instance = drawn("logits", 6, 2, seed=0, concentration=15.0)
    save_instance(instance, tmp_path / "peaked.json")
    read = load_instance(tmp_path / "peaked.json")
    assert min(read.target) < 1e-15
    assert_same(read, instance)


def test_star_gives_every_context_without_its_own_law() -> None:
    star = {
        "vocab": 2, "depth": 2,
        "target": {"*": ["1/3", "2/3"]},
        "draft": {"*": ["2/3", "1/3"]},
    }  # fmt: skip
    read = instance_from_json(star)
    assert read.target.tolist() == motivating().target.tolist()
    assert read.draft.tolist() == motivating().draft.tolist()
    assert read.leaf_target.tolist() == [[F(1, 3), F(2, 3)]] * 4
    star["target"]["1"] = ["1", "0"]
    assert instance_from_json(star).target.tolist() == [1, F(1, 3), F(2, 3), F(1, 3), F(2, 3), 1, 0]


def test_bonus_laws_may_be_missing() -> None:
    read = instance_from_json(document())
    assert read.leaf_target is None
    assert read.target_law(3).tolist() == [F(1, 2), F(1, 2)]
    partly = document()
    partly["target"]["1,0"] = ["1/5", "4/5"]
    read = instance_from_json(partly)
    assert read.target_law(5).tolist() == [F(1, 5), F(4, 5)]
    assert read.target_law(4).tolist() == [F(1, 2), F(1, 2)]


def test_laws_may_be_objects_from_tokens_to_probabilities() -> None:
    named = document()
    named["target"]["1"] = {"0": "1"}
    named["draft"][""] = {"1": "1/3", "0": "2/3"}
    assert_same(instance_from_json(named), instance_from_json(document()))


def test_sparse_files_name_live_contexts_only(tmp_path: Path) -> None:
    sparse = {
        "vocab": 50_000, "depth": 2, "sparse": True,
        "target": {"": {"7": "1/2", "49999": "1/2"}, "7": {"0": "1"}},
        "draft": {"": {"7": "1/4", "8": "3/4"}, "7": {"0": "1/9", "3": "8/9"}},
    }  # fmt: skip
    path = write(tmp_path, json.dumps(sparse))
    read = load_instance(path)
    assert [read.tree.path(node) for node in range(len(read.tree))] == [(), (7,), (7, 0)]
    assert instance_to_json(read) == sparse
    dense = {**sparse, "sparse": False}
    with pytest.raises(ValueError, match=r"more than 20000000 nodes"):
        instance_from_json(dense)


def test_decimals_that_sum_to_one_are_exact(tmp_path: Path) -> None:
    text = '{"vocab": 3, "depth": 1, "target": {"": [0.1, 0.2, 0.7]}, "draft": {"": [0.5, 5e-1, 0]}}'
    read = load_instance(write(tmp_path, text))
    assert read.exact
    assert read.target.tolist() == [1, F(1, 10), F(1, 5), F(7, 10)]
    assert read.draft.tolist() == [1, F(1, 2), F(1, 2), 0]


def test_rounded_decimals_make_a_float_instance(tmp_path: Path) -> None:
    text = """{"vocab": 3, "depth": 1, "target": {"": [0.3333333333333333, 0.3333333333333333, 0.3333333333333333]},
               "draft": {"": ["1/2", "1/4", "1/4"]}}"""
    read = load_instance(write(tmp_path, text))
    assert not read.exact
    assert read.target.tolist() == [1.0, 1 / 3, 1 / 3, 1 / 3]
    assert read.draft.tolist() == [1.0, 0.5, 0.25, 0.25]


def test_rational_strings_are_never_taken_for_rounded(tmp_path: Path) -> None:
    text = '{"vocab": 2, "depth": 1, "target": {"": ["0.3333", "0.6666"]}, "draft": {"": ["0.5", "0.5"]}}'
    with pytest.raises(ValueError, match=r"target law at context '': the entries sum to 9999/10000"):
        load_instance(write(tmp_path, text))


@pytest.mark.parametrize("kind", [float, np.float64])
def test_the_callers_own_floats_are_numbers_too(kind: type[float]) -> None:
    given_floats = {
        "vocab": 2, "depth": 1,
        "target": {"": [kind(0.25), kind(0.75)]},
        "draft": {"": [kind(0.5), kind(0.5)]},
    }  # fmt: skip
    read = instance_from_json(given_floats)
    assert [float(v) for v in read.target] == [1.0, 0.25, 0.75]


def test_a_file_may_hold_the_instance_as_a_member() -> None:
    wrapped = load_instance(CASES / "motivating.json")
    assert wrapped.joint_target.tolist() == motivating().joint_target.tolist()


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    out = document()
    change(out)
    return out


BAD_DOCUMENTS: list[tuple[Any, str]] = [
    ([], "got list; expected an object with vocab, depth, target, draft"),
    (None, "got NoneType; expected an object"),
    (changed(lambda d: d.pop("vocab")), "'vocab' is missing"),
    (changed(lambda d: d.pop("depth")), "'depth' is missing"),
    (changed(lambda d: d.pop("target")), "'target' is missing"),
    (changed(lambda d: d.pop("draft")), "'draft' is missing"),
    (changed(lambda d: d.update(note="x")), "unknown member 'note'"),
    (changed(lambda d: d.update(vocab=0)), "vocab: got 0; expected an integer of at least 1"),
    (changed(lambda d: d.update(vocab="2")), "vocab: got '2'"),
    (changed(lambda d: d.update(vocab=2.0)), "vocab: got"),
    (changed(lambda d: d.update(depth=-1)), "depth: got -1"),
    (changed(lambda d: d.update(depth=True)), "depth: got True"),
    (changed(lambda d: d.update(sparse=1)), "sparse: got 1; expected true or false"),
    (changed(lambda d: d.update(target=[])), "target: expected a non-empty object from contexts to laws"),
    (changed(lambda d: d.update(draft={})), "draft: expected a non-empty object"),
    (changed(lambda d: d["target"].pop("1")), "target law at context '1' is missing"),
    (changed(lambda d: d["draft"].pop("")), "draft law at context '' is missing"),
    (changed(lambda d: d["draft"].update({"0": ["1/2", "1/3"]})), "draft law at context '0'.*sum to 5/6"),
    (
        changed(lambda d: d["target"].update({"": ["4/3", "-1/3"]})),
        "target law at context '', token 1: got -1/3",
    ),
    (changed(lambda d: d["target"].update({"0": ["1/0", "1"]})), "target law at context '0', token 0.*'1/0'"),
    (changed(lambda d: d["target"].update({"0": ["nan", "1"]})), "target law at context '0', token 0.*'nan'"),
    (changed(lambda d: d["target"].update({"0": [None, "1"]})), "target law at context '0', token 0.*None"),
    (changed(lambda d: d["target"].update({"0": [True, "0"]})), "target law at context '0', token 0.*True"),
    (changed(lambda d: d["target"].update({"0": [["1"], "0"]})), "target law at context '0', token 0"),
    (changed(lambda d: d["target"].update({"0": [float("nan"), 1]})), "context '0', token 0: got nan"),
    (changed(lambda d: d["target"].update({"0": [float("inf"), 1]})), "context '0', token 0: got inf"),
    (changed(lambda d: d["target"].update({"0": ["1"]})), "context '0': got 1 entries; expected 2"),
    (changed(lambda d: d["target"].update({"0": "1/2"})), "context '0': got '1/2'; expected a list"),
    (changed(lambda d: d["target"].update({"0": {"2": "1"}})), r"context '0': token 2 is outside.*0\.\.1"),
    (changed(lambda d: d["target"].update({"0": {"-1": "1"}})), "context '0': got the token '-1'"),
    (changed(lambda d: d["target"].update({"0": {"x": "1"}})), "context '0': got the token 'x'"),
    (
        changed(lambda d: d["target"].update({"0": {"0": "1/2", "00": "1/2", "1": "1/2"}})),
        "context '0'.*token 0.*twice",
    ),
    (changed(lambda d: d["target"].update({"2": ["1", "0"]})), "context '2': token 2 is outside"),
    (changed(lambda d: d["draft"].update({"0,0,0": ["1", "0"]})), "context '0,0,0'.*3 tokens"),
    (changed(lambda d: d["target"].update({"a": ["1", "0"]})), "target: got the context 'a'"),
    (changed(lambda d: d["target"].update({"0,": ["1", "0"]})), "target: got the context '0,'"),
    (changed(lambda d: d["target"].update({" 0": ["1", "0"]})), "target: got the context ' 0'"),
    (changed(lambda d: d["target"].update({"-1": ["1", "0"]})), "target: got the context '-1'"),
    (changed(lambda d: d["target"].update({"00": ["1", "0"]})), "target: the context '0' is given twice"),
    (
        {"vocab": 100, "depth": 6, "target": {"*": []}, "draft": {"*": []}},
        "'\\*'.* full tree with vocabulary 100 and depth 6",
    ),
]


@pytest.mark.parametrize(("bad", "said"), BAD_DOCUMENTS, ids=[said for _, said in BAD_DOCUMENTS])
def test_a_malformed_document_is_refused_in_one_line_that_names_the_place(bad: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said) as raised:
        instance_from_json(bad)
    assert "\n" not in str(raised.value)


BAD_FILES: list[tuple[str | bytes, str]] = [
    (
        '{"vocab": 2, "depth": 1, "target": {"": [1e999999999, 0.5]}, "draft": {"": [1, 0]}}',
        "target law at context '', token 0: got 1e999999999",
    ),
    (
        '{"vocab": 2, "depth": 1, "target": {"": ["1e-999999999", "1"]}, "draft": {"": [1, 0]}}',
        "target law at context '', token 0: got '1e-999999999'",
    ),
    ('{"vocab": 2, "depth": 1000000000, "target": {"*": [1, 0]}, "draft": {"*": [1, 0]}}', "depth: got 10+;"),
    ('{"vocab": 1e3, "depth": 1, "target": {"*": [1]}, "draft": {"*": [1]}}', "vocab: got"),
    ("", "the file is empty; expected a JSON object"),
    (" \n\t", "the file is empty"),
    (b"\xff\xfe\x00", "not UTF-8 text"),
    ('{"vocab": 2,', r"not JSON \(line 1, column \d+"),
    ('{\n"vocab" 2}', r"not JSON \(line 2, column \d+"),
    ("[]", "got list; expected an object"),
    ('"text"', "got str; expected an object"),
    ('{"instance": 3}', "got int; expected an object"),
    ("[" * 100_000, "instance.json: "),
    ('{"vocab": 1, "depth": 1, "target": {"": [NaN]}, "draft": {"": [1]}}', "got NaN"),
    ('{"vocab": 1, "depth": 1, "target": {"": [Infinity]}, "draft": {"": [1]}}', "got Infinity"),
    (
        '{"vocab": 2, "depth": 1, "target": {"": [0.5, 0.6]}, "draft": {"": [1, 0]}}',
        r"target law at context '': the entries sum to 1\.1; expected 1",
    ),
    (
        '{"vocab": 2, "depth": 1, "target": {"": [-0.5, 1.5]}, "draft": {"": [1, 0]}}',
        "target law at context '', token 0: got -1/2",
    ),
    (
        '{"vocab": 2, "depth": 1, "target": {"": [1e400, 0.5]}, "draft": {"": [1, 0]}}',
        "target law at context ''",
    ),
    (
        '{"vocab": 2, "depth": 1, "target": {"": ["1e5000", "1/2"]}, "draft": {"": [1, 0]}}',
        "target law at context ''",
    ),
    (
        '{"vocab": 2, "depth": 1, "target": {"": ["1", "0"], "": ["0", "1"]}, "draft": {"": [1, 0]}}',
        "given twice",
    ),
]


@pytest.mark.parametrize(("content", "said"), BAD_FILES, ids=[said for _, said in BAD_FILES])
def test_a_malformed_file_is_refused_in_one_line_that_names_it(
    content: str | bytes, said: str, tmp_path: Path
) -> None:
    path = write(tmp_path, content)
    with pytest.raises(ValueError, match=said) as raised:
        load_instance(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert "\n" not in str(raised.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(ValueError, match="cannot be read") as raised:
            load_instance(path)
        assert str(raised.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"vocab": 2', '"vocab": 2.0', "vocab: got 2.0; expected an integer of at least 1"),
        ('"depth": 1', '"depth": 1.50e0', "depth: got 1.50e0; expected an integer of at least 1"),
        ('"1/3"', '"1_0/30"', "token 0: got '1_0/30'; expected a rational in the digits 0 to 9"),
        ('"1/3"', '"\N{ARABIC-INDIC DIGIT ONE}/3"', "expected a rational in the digits 0 to 9"),
        ('"1/3"', "1_0", "not JSON"),
        ('"1/3"', f'"-{"9" * 5000}"', "... (5001 characters); expected a finite number"),
        ('"1/3"', f'"{"9" * 5000}"', "... (5003 characters); expected 1"),  # (3 * 10**5000 - 1)/3
        ('"vocab"', f'"{"v" * 5000}": 1, "vocab"', "... (5002 characters); an instance has vocab, depth"),
        ('"":', f'"{"0," * 2500}0":', "... (5003 characters)"),
    ],
)
def test_a_file_is_quoted_as_it_was_written_and_in_short(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "instance.json"
    text = '{"vocab": 2, "depth": 1, "target": {"": ["1/3", "2/3"]}, "draft": {"": ["2/3", "1/3"]}}'
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError) as told:  # noqa: PT011
        load_instance(path)
    assert said in str(told.value)
    assert len(str(told.value)) < 400 + len(str(path))
    path.write_text(text)
    assert load_instance(path).vocab == 2


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "instance.json"
    path.write_text("old")

    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        save_instance(motivating(), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["instance.json"]


def test_rationals_have_one_text() -> None:
    assert format_rational(F(-4, 6)) == "-2/3"
    assert parse_rational("-2/3", "here") == F(-2, 3)
    assert parse_rational("0.25", "here") == F(1, 4)
    with pytest.raises(TypeError, match="float"):
        format_rational(0.5)
    for bad in (0.5, "1/x", None, True, b"1"):
        with pytest.raises(ValueError, match=r"^here: got .*expected a rational"):
            parse_rational(bad, "here")


def test_exact_arrays_hold_fractions_and_keep_floats_as_they_are() -> None:
    values = exact_array([1, 0.1, F(1, 3)])
    assert values.tolist() == [F(1), F(3602879701896397, 36028797018963968), F(1, 3)]
    assert all(type(v) is Fraction for v in values)
