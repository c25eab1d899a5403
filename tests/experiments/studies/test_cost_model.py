"""The cost model against a computation by hand, and against measured times that are made up."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from nodebudget.experiments.storage.results import write_table
from nodebudget.experiments.studies.cost_model import (
    COLUMNS,
    PHASES,
    best_paths,
    check,
    main,
    phase_milliseconds,
)


def row(
    paths: int, seconds: dict[str, float], efficiency: float, speed: float, **more: Any
) -> dict[str, Any]:
    """A row of a decode study with ten blocks; seconds are those of a block."""
    times = {f"{phase}_seconds": 10 * seconds[phase] for phase in PHASES}
    about = {"verifier": "gbv", "length": 4, "temperature": 1.0, "blocks": 10, "paths": paths}
    return {**about, **times, "expected_block_efficiency": efficiency, "tokens_per_second": speed, **more}


ONE = {"draft": 0.20, "target": 0.10, "verify": 0.04, "cache": 0.01}  # 350 ms
TWO = {"draft": 9.0, "target": 9.0, "verify": 9.0, "cache": 9.0}  # not looked at
FIVE = {"draft": 0.40, "target": 0.20, "verify": 0.14, "cache": 0.01}  # 750 ms
MADE_UP = [row(2, TWO, 1.8, 3.0), row(5, FIVE, 2.25, 2.5), row(1, ONE, 1.4, 4.0)]


def test_by_hand() -> None:
    """K = 2 lies a quarter of the way from 350 to 750 ms: 450 ms for 1.8 tokens are 4 tokens per second."""
    one, two, five = check(MADE_UP)
    assert [each.paths for each in (one, two, five)] == [1, 2, 5]
    assert [each.interpolated for each in (one, two, five)] == [False, True, False]
    assert [each.block_seconds for each in (one, two, five)] == pytest.approx([0.35, 0.45, 0.75])
    assert [each.tokens_per_second for each in (one, two, five)] == pytest.approx([1.4 / 0.35, 4.0, 3.0])
    assert [each.error for each in (one, two, five)] == pytest.approx([0.0, 1 / 3, 0.2])
    assert phase_milliseconds(MADE_UP[2]) == pytest.approx(
        {phase: 1000 * seconds for phase, seconds in ONE.items()}
    )


def test_every_phase_and_the_efficiency_count() -> None:
    """The comparison above can fail: a change of any one input moves the prediction."""
    before = check(MADE_UP)[0].tokens_per_second
    for phase in PHASES:
        slower = row(1, ONE | {phase: ONE[phase] + 0.01}, 1.4, 4.0)
        assert check([*MADE_UP[:2], slower])[0].tokens_per_second < before - 0.1
    better = row(1, ONE, 1.5, 4.0)
    assert check([*MADE_UP[:2], better])[0].tokens_per_second > before + 0.2


def test_verifiers_stand_by_themselves_and_plain_decoding_is_left_out() -> None:
    other = row(3, ONE, 1.4, 4.0, verifier="bv")
    plain = row(1, ONE, 1.0, 20.0, verifier="autoregressive")
    found = check([plain, other, *MADE_UP])
    assert [(each.verifier, each.paths) for each in found] == [("bv", 3), ("gbv", 1), ("gbv", 2), ("gbv", 5)]
    assert found[1:] == check(MADE_UP)
    assert found[0].tokens_per_second == pytest.approx(4.0)  # of a single K, as measured


def test_where_a_wider_block_stops_paying() -> None:
    """Efficiency 2, 3, 3.2, 3.25 and 300, 400, 500, 600 ms: 6.7, 7.5, 6.4 and 5.4 tokens per second."""
    nothing = dict.fromkeys(PHASES, 0.0)
    rows = [
        row(paths, nothing | {"draft": 0.2 + 0.1 * paths}, efficiency, 1.0)
        for paths, efficiency in ((1, 2.0), (2, 3.0), (3, 3.2), (4, 3.25))
    ]
    assert best_paths(check(rows), "gbv") == 2
    rows[3] = row(4, nothing | {"draft": 0.6}, 5.0, 1.0)
    assert best_paths(check(rows), "gbv") == 4


@pytest.mark.parametrize(
    "rows",
    [[], [MADE_UP[0], row(1, ONE, 1.0, 1.0, length=2)], [MADE_UP[0], row(1, ONE, 1.0, 1.0, temperature=0.5)]],
)
def test_rows_of_several_settings_are_refused(rows: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="got several lengths or temperatures, or none"):
        check(rows)


def test_the_script_prints_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rows of `test_by_hand`: 450 ms and 4 tokens per second at K = 2, a third more than measured."""
    file = tmp_path / "study.parquet"
    monkeypatch.setattr(sys, "argv", ["cost_model", str(file)])
    write_table(file, pa.Table.from_pylist(MADE_UP), {})
    main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == ["gbv", "2", "450.0", "4.00", "3.00", "+33%"]
    assert lines[-1][:-1] == "gbv: by prediction the best K is "
    assert lines[-1][-1] in "12"  # 4 tokens per second with either
    assert len(lines) == 5
    for column in COLUMNS:
        write_table(file, pa.Table.from_pylist(MADE_UP).drop_columns([column]), {})
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        assert f"got no column {column}; expected verifier" in capsys.readouterr().err
    file.write_text("no table")
    with pytest.raises(SystemExit):
        main()
    assert "is not a result file" in capsys.readouterr().err
