"""Every figure is drawn from the stored results, with the same bytes each time, and what it shows is there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zlib
from pathlib import Path

import matplotlib as mpl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nodebudget.experiments.storage.results import METADATA, read_document
from nodebudget.experiments.sweep import load_config
from nodebudget.experiments.sweep.config import InstanceKey, SweepConfig
from nodebudget.experiments.sweep.drafted import defined_for
from nodebudget.experiments.sweep.rows import instance_rows
from nodebudget.paper_figures import FIGURES, RESULTS, draw_figures
from nodebudget.verifiers import get_verifier

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).parent / "nodebudget"
DRAWN = ROOT / "docs" / "figures"
STUDIES = sorted(file.stem for file in RESULTS.glob("*.toml"))


def test_what_there_is() -> None:
    assert {"share_of_optimum", "similarity", "node_budgets", "antichain_hull", "base_polytope"} <= set(
        FIGURES
    )
    assert {"families", "similarity", "paths", "lengths", "drafts", "tree_verifiers", "closest"} <= set(
        STUDIES
    )
    assert sum(file.stat().st_size for file in RESULTS.iterdir()) < 2_000_000


@pytest.mark.parametrize("name", FIGURES)
def test_the_same_bytes_twice(name: str, tmp_path: Path) -> None:
    """Once in this process and once in a fresh one, where other figures were not drawn before."""
    here = list(draw_figures([name], tmp_path / "here"))
    assert [file.name for file in here] == [f"{name}.pdf", f"{name}.png"]
    command = [COMMAND, "figures", name, "--out", str(tmp_path / "there"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    there = [Path(file) for file in json.loads(done.stdout)["files"]]
    for first, second in zip(here, there, strict=True):
        assert first.read_bytes() == second.read_bytes()
    assert sorted(file.name for file in (tmp_path / "here").iterdir()) == [f"{name}.pdf", f"{name}.png"]


@pytest.mark.parametrize("name", FIGURES)
def test_the_pdf_is_of_one_column_with_real_fonts(name: str, tmp_path: Path) -> None:
    (file, _) = draw_figures([name], tmp_path)
    data = file.read_bytes()
    assert b"CreationDate" not in data
    assert b"/Type3" not in data
    assert b"/Type0" in data or b"/TrueType" in data
    width = float(re.search(rb"/MediaBox \[ ?0 0 ([\d.]+)", data)[1])  # type: ignore[index]
    assert width == pytest.approx(3.3 * 72)


@pytest.mark.parametrize("name", FIGURES)
def test_the_drawings_in_the_documentation_are_these(name: str, tmp_path: Path) -> None:
    stored = DRAWN / f"{name}.png"
    if f"Matplotlib version{mpl.__version__}".encode() not in stored.read_bytes():
        pytest.skip("the drawings in docs/figures were made by another version of matplotlib")
    for file in draw_figures([name], tmp_path):
        assert file.read_bytes() == (DRAWN / file.name).read_bytes()


@pytest.mark.parametrize("study", STUDIES)
def test_the_stored_results_are_of_their_configurations(study: str) -> None:
    """Rows of three instances, computed again; all the rows are there."""
    file = RESULTS / f"{study}.parquet"
    config = load_config(RESULTS / f"{study}.toml")
    document = read_document(file)
    stored = SweepConfig(**{k: tuple(v) if isinstance(v, list) else v for k, v in document["config"].items()})
    assert set(stored.verifiers) <= set(config.verifiers)
    assert document["config"] | {"verifiers": 0} == config.document() | {"verifiers": 0}
    rows = pq.read_table(file).to_pylist()
    keys = list(stored.keys())
    assert len(rows) == len(keys) * rows_each(stored)
    cheapest = sorted(keys, key=lambda key: (key.vocab**key.depth, zlib.crc32(repr(key).encode())))[:3]
    light = SweepConfig(**{**vars(stored), "paths": stored.paths[:1], "drafting": stored.drafting[::7]})
    for key in cheapest:
        mine = [row for row in rows if drafted(row) in light.drafted and is_of(row, key)]
        again = instance_rows(light, key)
        assert len(again) == len(mine) == rows_each(light)
        for new, old in zip(again, mine, strict=True):
            assert (new["verifier"], new["drafting"]) == (old["verifier"], drafted(old))
            assert new["optimum"] == pytest.approx(old["optimum"], abs=1e-8)
            assert new["accepted_tokens"] == pytest.approx(old["accepted_tokens"], abs=1e-8)


def rows_each(config: SweepConfig) -> int:
    """Rows of an instance: a verifier has some for the drafts only that it is defined for."""
    verifiers = [get_verifier(name) for name in config.verifiers]
    return sum(defined_for(verifier, text) for verifier in verifiers for text in config.drafted)


def drafted(row: dict[str, object]) -> object:
    """The text form; tables of earlier versions are of i.i.d. paths."""
    return row.get("drafting", f"iid:{row['paths']}")


def is_of(row: dict[str, object], key: InstanceKey) -> bool:
    return all(row[name] == value for name, value in vars(key).items())


def test_a_figure_shows_its_results(tmp_path: Path) -> None:
    """Other numbers give another picture: the figures read the folder that they are given."""
    for file in RESULTS.glob("*.parquet"):
        table = pq.read_table(file)
        column = table.schema.get_field_index("accepted_tokens")
        halved = [value / 2 for value in table["accepted_tokens"].to_pylist()]
        table = table.set_column(column, "accepted_tokens", pa.array(halved))
        document = json.dumps(read_document(file)).encode()
        pq.write_table(table.replace_schema_metadata({METADATA: document}), tmp_path / file.name)
    names = ("share_of_optimum", "similarity", "block_efficiency", "draft_length")
    changed = list(draw_figures(names, tmp_path / "changed", tmp_path))
    for file in changed:
        assert file.read_bytes() != (DRAWN / file.name).read_bytes()
    assert len(changed) == 8


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pie_chart"], "figure: got 'pie_chart'; expected some of antichain_hull, base_polytope"),
        (
            ["similarity", "--results", "empty"],
            "'empty/similarity.parquet' is missing; make it with: nodebudget",
        ),
        (
            ["similarity", "--results", "nowhere"],
            "--results: there is no folder nowhere; expected one with result",
        ),
        (["node_budgets", "--out", "a_file"], "--out: 'a_file' is a file; expected a folder"),
    ],
)
def test_bad_input(arguments: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "a_file").touch()
    (tmp_path / "empty").mkdir()
    done = subprocess.run([COMMAND, "figures", *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr
