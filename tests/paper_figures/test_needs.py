"""Figures of a user's own results: drawn from what the file has, or refused in one line that says what is wanted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nodebudget.experiments.storage.results import METADATA
from nodebudget.experiments.sweep.config import SweepConfig
from nodebudget.experiments.sweep.rows import chunk_table
from nodebudget.paper_figures import FIGURES, RESULTS, describe_figures, figure
from nodebudget.paper_figures.common import share
from nodebudget.paper_figures.fig_similarity import _gaps

mpl.use("agg")
Run = Callable[..., tuple[int, str, str]]
NEEDS = {each.name: each.needs for each in describe_figures() if each.needs is not None}
PARQUET = sorted(name for name, needs in NEEDS.items() if needs.file.endswith(".parquet"))
TINY = {"vocab": (2,), "depth": (1,), "seeds": (0, 1), "verifiers": ("bv", "gbv")}


def put(folder: Path, file: str, table: pa.Table) -> None:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata({METADATA: b"{}"}), path)


def sweep(folder: Path, file: str, **keys: Any) -> list[dict[str, Any]]:
    """A small sweep of a user's, and its rows."""
    config = SweepConfig(**{**TINY, **keys})
    table = chunk_table(config, config.keys())
    put(folder, file, table)
    return list(table.to_pylist())


def curves(name: str, folder: Path) -> dict[str, list[float]]:
    """The labelled curves of a figure's first panel."""
    axis = figure(name, folder).axes[0]
    return {str(line.get_label()): list(line.get_ydata()) for line in axis.get_lines()}


def test_every_figure_is_described() -> None:
    described = describe_figures()
    assert [each.name for each in described] == list(FIGURES)
    assert {each.name for each in described} - NEEDS.keys() == {
        "antichain_hull",
        "base_polytope",
        "node_budgets",
    }
    for each in described:
        assert len(each.shows.split()) > 5
        assert (each.command is None) == (each.needs is None)
        if each.needs is not None:
            assert (RESULTS / each.needs.file).exists()
            assert str(RESULTS / each.needs.file) in str(each.command)


@pytest.mark.parametrize("name", PARQUET)
def test_the_columns_said_are_those_needed(name: str, tmp_path: Path) -> None:
    """With them alone the figure is drawn; without any one of them it is refused by name."""
    needs = NEEDS[name]
    stored = pq.read_table(RESULTS / needs.file)
    put(tmp_path, needs.file, stored.select(needs.columns))
    assert figure(name, tmp_path).axes
    for column in needs.columns:
        put(tmp_path, needs.file, stored.drop_columns([column]))
        with pytest.raises(ValueError, match=rf"got no column {column}; expected .*{column}"):
            figure(name, tmp_path)


@pytest.mark.parametrize("name", NEEDS)
def test_an_empty_file_and_one_that_is_none(name: str, tmp_path: Path, run_command: Run) -> None:
    needs = NEEDS[name]
    path = tmp_path / needs.file
    path.parent.mkdir(exist_ok=True)
    if name in PARQUET:
        put(tmp_path, needs.file, pq.read_table(RESULTS / needs.file).slice(0, 0))
    else:
        path.write_text((RESULTS / needs.file).read_text().splitlines()[0] + "\n")
    for _ in range(2):
        code, out, err = run_command(
            "figures", name, "--results", str(tmp_path), "--out", str(tmp_path / "out")
        )
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert str(path) in err
        path.write_bytes(b"\xff\x00 no table")


def test_similarity_takes_any_numbers_of_paths(tmp_path: Path) -> None:
    rows = sweep(
        tmp_path,
        "similarity.parquet",
        families=("logits", "flat"),
        similarity=(0.2, 0.9),
        paths=(1, 2, 3, 5, 6),
    )
    drawn = curves("similarity", tmp_path)
    assert {"K = 1", "K = 2", "K = 3", "K = 5", "K = 6"} <= drawn.keys()
    assert drawn["K = 1"] == [0, 0]  # one path: GBV is BV
    for place, similarity in enumerate((0.2, 0.9)):
        of = {
            name: np.mean(
                [
                    row["accepted_tokens"]
                    for row in rows
                    if (row["similarity"], row["paths"], row["verifier"]) == (similarity, 3, name)
                ]
            )
            for name in ("gbv", "bv")
        }
        assert drawn["K = 3"][place] == pytest.approx(of["gbv"] - of["bv"])


def test_instances_of_other_sizes_with_the_same_seed_are_told_apart() -> None:
    key = {"family": "logits", "depth": 1, "similarity": 0.5, "concentration": 1.0, "zeros": None, "seed": 7}
    values = {(2, "bv"): 0.5, (2, "gbv"): 0.75, (3, "bv"): 0.25, (3, "gbv"): 0.125}
    rows = [{**key, "vocab": v, "verifier": name, "accepted_tokens": x} for (v, name), x in values.items()]
    assert sorted(_gaps(rows)) == [-0.125, 0.25]


def test_share_of_optimum_takes_other_families_and_verifiers(tmp_path: Path) -> None:
    rows = sweep(
        tmp_path, "families.parquet", families=("markov", "flat"), paths=(3,), verifiers=("nss", "token")
    )
    drawn = figure("share_of_optimum", tmp_path).axes[0]
    assert [label.get_text() for label in drawn.get_yticklabels()] == ["flat", "markov"]
    assert "OPT$_{3}$" in drawn.get_xlabel()
    (nss,) = (line for line in drawn.get_lines() if line.get_label() == "NSS")
    flat = [row for row in rows if (row["family"], row["verifier"]) == ("flat", "nss")]
    accepted, best = (sum(row[name] for row in flat) for name in ("accepted_tokens", "optimum"))
    assert nss.get_xdata()[0] == pytest.approx(100 * accepted / best)


def test_rows_without_an_optimum_are_left_out(tmp_path: Path) -> None:
    rows = sweep(tmp_path, "families.parquet", families=("flat",), paths=(2,))
    lost = [row | {"optimum": None} if row["seed"] == 1 else row for row in rows]
    put(tmp_path, "families.parquet", pa.Table.from_pylist(lost))
    (axis,) = figure("share_of_optimum", tmp_path).axes
    (first,) = (row for row in rows if (row["seed"], row["verifier"]) == (0, "bv"))
    (line,) = (line for line in axis.get_lines() if line.get_label() == "BV, one path")
    assert line.get_xdata()[0] == pytest.approx(100 * first["accepted_tokens"] / first["optimum"])
    assert np.isnan(share([]))


def test_block_efficiency_needs_no_bv_and_one_panel_is_enough(tmp_path: Path) -> None:
    rows = sweep(tmp_path, "paths.parquet", families=("flat",), paths=(1, 4), verifiers=("traversal",))
    drawn = curves("block_efficiency", tmp_path)
    for label, column in ((r"OPT$_K$ (bound)", "optimum"), ("traversal", "accepted_tokens")):
        means = [1 + np.mean([row[column] for row in rows if row["paths"] == k]) for k in (1, 4)]
        assert drawn[label] == pytest.approx(means)
    sweep(tmp_path, "lengths.parquet", families=("flat", "logits"), depth=(1, 2), paths=(1,))
    drawn_lengths = figure("draft_length", tmp_path)
    assert [axis.get_title(loc="left") for axis in drawn_lengths.axes] == ["flat", "similarity 0.9"]
    assert "K = 1 path" in drawn_lengths.axes[-1].get_xlabel()


@pytest.mark.parametrize(
    ("name", "keys", "said"),
    [
        ("similarity", {"families": ("logits",), "paths": (2,), "verifiers": ("bv", "nss")},
         "got verifier bv, nss; expected verifier with at least bv and gbv"),
        ("similarity", {"families": ("flat",), "paths": (2,)},
         "got similarity without values; expected similarity with numbers, as the family logits has them"),
        ("share_of_optimum", {"families": ("flat",), "paths": (1, 2)},
         "got paths 1, 2; expected paths with one value in all rows"),
        ("draft_length", {"families": ("flat",), "paths": (1, 2)},
         "got paths 1, 2; expected paths with one value in all rows"),
        ("block_efficiency", {"families": ("flat",), "paths": (1,), "depth": (1, 2)},
         "got depth 1, 2; expected depth with one value in all rows"),
    ],
)  # fmt: skip
def test_what_a_sweep_lacks_is_said(
    name: str, keys: dict[str, Any], said: str, tmp_path: Path, run_command: Run
) -> None:
    sweep(tmp_path, NEEDS[name].file, **keys)
    code, out, err = run_command("figures", name, "--results", str(tmp_path), "--out", str(tmp_path / "out"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"'{tmp_path / NEEDS[name].file}': {said}" in err


def changed(name: str, folder: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """The stored results of a figure with every row changed, or left out."""
    file = NEEDS[name].file
    rows = [new for row in pq.read_table(RESULTS / file).to_pylist() if (new := change(row)) is not None]
    put(folder, file, pa.Table.from_pylist(rows))


def test_decode_studies_of_a_users(tmp_path: Path) -> None:
    name = "throughput_temperature"
    changed(name, tmp_path, lambda row: row | {"expected_interval_low": None, "expected_interval_high": None})
    assert figure(name, tmp_path).axes  # a single prompt has no interval
    changed(name, tmp_path, lambda row: None if row["verifier"] == "autoregressive" else row)
    with pytest.raises(ValueError, match="expected verifier with at least autoregressive"):
        figure(name, tmp_path)
    changed(name, tmp_path, lambda row: row | {"paths": int(10 * row["temperature"])})
    with pytest.raises(ValueError, match="expected paths with one value"):
        figure(name, tmp_path)
    changed("time_by_phase", tmp_path, lambda row: row if row["paths"] == 1 else None)
    with pytest.raises(ValueError, match=r"got drafted_paths .*; expected drafted_paths with two values"):
        figure("time_by_phase", tmp_path)


def test_optimality_and_contexts_of_a_users(tmp_path: Path) -> None:
    name = "pair_optimality"
    other = {1: 3, 2: 5, 4: 8}
    changed(
        name, tmp_path, lambda row: row | {"paths": other[row["paths"]], "verifier": f"my:{row['verifier']}"}
    )
    labels = {str(line.get_label()) for line in figure(name, tmp_path).axes[0].get_lines()}
    assert {"K = 3", "K = 5", "K = 8"} <= labels
    changed(name, tmp_path, lambda row: row if row["context"] == 0 else None)
    assert figure(name, tmp_path).axes  # a single context has no interval
    changed(name, tmp_path, lambda row: row | {"depth": 1})
    with pytest.raises(ValueError, match="got depth 1; expected depth with 3, the length"):
        figure(name, tmp_path)
    changed("skewed_draft", tmp_path, lambda row: row if row["paths"] == 4 else None)
    assert len(figure("skewed_draft", tmp_path).axes) == 1


def test_a_mixed_study_of_one_cell(tmp_path: Path) -> None:
    lines = (RESULTS / "mixed_study.csv").read_text().splitlines()
    cell = [line for line in lines[1:] if line.startswith("8,3,0.5,") and line.split(",")[5] == "2"]
    file = tmp_path / "mixed_study.csv"
    file.write_text("\n".join([lines[0], *cell]) + "\n")
    assert len(figure("mixed_study", tmp_path).axes) == 1
    file.write_text("\n".join([lines[0], cell[0].replace("8,3,", "8,2,")]) + "\n")
    with pytest.raises(ValueError, match="got vocab, depth 8, 2; expected vocab, depth with 8, 3"):
        figure("mixed_study", tmp_path)
    file.write_text("\n".join([lines[0], cell[0].replace("8,3,", "8,three,")]) + "\n")
    with pytest.raises(ValueError, match=r"mixed_study.csv', line 2: .*'three'"):
        figure("mixed_study", tmp_path)
    file.write_text("a,b\n")
    with pytest.raises(ValueError, match="got the columns 'a, b'; expected vocab, depth"):
        figure("mixed_study", tmp_path)


def test_the_list(run_command: Run) -> None:
    code, out, err = run_command("figures", "--list", "similarity", "node_budgets")
    assert (code, err) == (0, "")
    assert "file     similarity.parquet" in out
    assert "verifier with bv and gbv" in out
    assert "--out DIR/similarity.parquet" in out
    assert out.count("needs no file") == 1
    code, out, _ = run_command("figures", "--list", "--json")
    found = {each["name"]: each for each in json.loads(out)["figures"]}
    assert list(found) == list(FIGURES)
    assert found["share_of_optimum"]["single"] == ["paths"]
    assert found["node_budgets"]["file"] is None


def test_a_folder_that_does_not_exist_is_said_before_anything_is_drawn(
    tmp_path: Path, run_command: Callable[..., tuple[int, str, str]]
) -> None:
    out = tmp_path / "out"
    code, _, error = run_command("figures", "--results", str(tmp_path / "none"), "--out", str(out))
    assert code == 2
    assert "there is no folder" in error
    assert not out.exists()
