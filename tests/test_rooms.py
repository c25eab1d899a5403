"""The house: rooms with doors, arrows that go one way, small files, nothing written twice."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[1]

ROOMS = {
    "lp": [
        "numbers",
        "instances",
        "drafting",
        "budgets",
        "programs",
        "solving",
        "proofs",
        "selection",
        "answer",
        "attempts",
        "optimum",
    ],
    "verifiers": [
        "arithmetic",
        "drafts",
        "verifier",
        "algorithms",
        "registry",
        "plain",
        "sampling",
        "audit",
        "expected_tokens",
        "decoding",
    ],
    "experiments": [
        "arguments",
        "tables",
        "storage",
        "checks",
        "sweep",
        "pairs",
        "contexts",
        "optimality",
        "studies",
        "benchmarks",
        "commands",
        "cli",
    ],
}
"""From the ground up: a room, or a module at the top of a folder, imports only those before it."""

FLOORS = ["lp", "verifiers", "paper_figures", "experiments"]
"""A folder imports only those before it; figures and experiments may use each other."""

MOST_AT_THE_TOP = {"lp": 6, "verifiers": 7, "experiments": 4}
LONGEST = 300
TWICE = 10

Place = tuple[str, str]
"""A top folder and a room in it."""


def modules(top: str) -> list[Path]:
    return sorted(ROOT.joinpath(top).rglob("*.py"))


def imported(source: str, package: list[str], *, for_types: bool = True) -> Iterator[list[str]]:
    """The full names, without "nodebudget", of what a module of a package imports from this project."""
    tree = ast.parse(source)
    if not for_types:
        tree.body = [
            node for node in tree.body if ast.unparse(node).partition("\n")[0] != "if TYPE_CHECKING:"
        ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) + 1 - node.level] if node.level else []
            base = [*start, *(node.module.split(".") if node.module else [])]
            names = [[*base, alias.name] for alias in node.names]
        else:
            continue
        yield from (name[1:] for name in names if name[0] == "nodebudget" and len(name) > 1)


def arrows(path: Path, source: str) -> Iterator[tuple[Place, Place]]:
    """From the place of a module to the place of each import, doors of top folders left out."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    here = (parts[0], parts[1])
    for name in imported(source, ["nodebudget", *parts[:-1]]):
        yield here, (name[0], name[1] if len(name) > 1 else "")


def goes_back(here: Place, there: Place) -> bool:
    """Whether an import goes from a lower floor or room to a higher one."""
    if here[0] != there[0]:
        if {here[0], there[0]} == {"paper_figures", "experiments"}:
            return False
        return FLOORS.index(there[0]) > FLOORS.index(here[0])
    order = ROOMS.get(here[0])
    if order is None or here[1] == "__init__" or there[1] not in order:
        return False
    return order.index(there[1]) > order.index(here[1])


def test_every_room_and_module_has_its_place() -> None:
    for top, order in ROOMS.items():
        found = {path.relative_to(ROOT / top).with_suffix("").parts[0] for path in modules(top)}
        assert found - {"__init__"} <= set(order), top


def test_arrows_go_one_way() -> None:
    back = [
        f"{path.relative_to(ROOT)}: {'.'.join(there)}"
        for top in FLOORS
        for path in modules(top)
        for here, there in arrows(path, path.read_text(encoding="utf-8"))
        if goes_back(here, there)
    ]
    assert back == []


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("lp/budgets/new.py", "from ..proofs.certificates import Certificate"),
        ("lp/drafting/new.py", "from ..optimum import solve_multi_path"),
        ("lp/numbers/new.py", "from nodebudget.verifiers import DraftTree"),
        ("verifiers/drafts/new.py", "def late():\n    from ..audit import audit_exact"),
        ("verifiers/audit/new.py", "import nodebudget.experiments.sweep"),
    ],
)
def test_control_an_arrow_back_is_seen(where: str, line: str) -> None:
    assert any(goes_back(*arrow) for arrow in arrows(ROOT / where, line))


def imports_of_modules(sources: dict[str, str]) -> nx.DiGraph:
    """From module to module, named as "lp.numbers.rationals"; a door is named as its folder."""
    graph = nx.DiGraph()
    packages = {name.rpartition(".")[0] for name in sources}
    for name, source in sources.items():
        package = name if name in packages else name.rpartition(".")[0]
        for found in imported(source, ["nodebudget", *package.split(".")], for_types=False):
            whole, above = ".".join(found), ".".join(found[:-1])
            target = whole if whole in sources else above
            if target in sources and target != name:
                graph.add_edge(name, target)
    return graph


def test_no_module_imports_itself_by_a_detour() -> None:
    sources = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path.read_text(
            encoding="utf-8"
        )
        for top in FLOORS
        for path in modules(top)
    }
    graph = imports_of_modules(sources)
    assert graph.number_of_edges() > 300
    assert list(nx.simple_cycles(graph)) == []


def test_control_a_cycle_is_seen() -> None:
    sources = {"lp": "", "lp.a": "from .b import x", "lp.b": "def late():\n    from . import a"}
    assert list(nx.simple_cycles(imports_of_modules(sources)))


def test_every_room_has_a_door_that_says_what_is_inside() -> None:
    for top in ROOMS:
        for folder in [ROOT / top, *(path for path in (ROOT / top).iterdir() if path.is_dir())]:
            if folder.name == "__pycache__":
                continue
            door = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
            assert door, folder
            assert len(door) > 40, folder


def test_the_tops_are_nearly_empty_and_files_are_short() -> None:
    for top, most in MOST_AT_THE_TOP.items():
        assert len(list((ROOT / top).glob("*.py"))) <= most, top
        for path in modules(top):
            assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST, path


def test_tests_mirror_the_rooms() -> None:
    for top in ("lp", "verifiers"):
        for room in (ROOT / top).iterdir():
            if (room / "__init__.py").exists():
                assert list((ROOT / "tests" / top / room.name).glob("test_*.py")), room


def test_every_package_is_installed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    named = set(settings["tool"]["setuptools"]["packages"])
    folders = {path.parent for top in FLOORS for path in modules(top)}
    assert named == {".".join(("nodebudget", *folder.relative_to(ROOT).parts)) for folder in folders}


def blocks(source: str, size: int) -> Iterator[tuple[str, ...]]:
    """Every run of so many lines of code: without blank lines, comments, imports and closing brackets alone."""
    lines = [line.strip() for line in source.splitlines()]
    code = [line for line in lines if re.search(r"\w", line) and not re.match(r"#|from |import ", line)]
    yield from (tuple(code[i : i + size]) for i in range(len(code) - size + 1))


def written_twice(sources: dict[str, str]) -> set[frozenset[str]]:
    """Names of sources that share a block of `TWICE` lines."""
    found: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for name, source in sources.items():
        for block in blocks(source, TWICE):
            found[block].add(name)
    return {frozenset(names) for names in found.values() if len(names) > 1}


def test_no_block_of_ten_lines_stands_twice() -> None:
    sources = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for top in ("lp", "verifiers")
        for path in modules(top)
        if path.name != "__init__.py"
    }
    assert written_twice(sources) == set()


def test_control_a_block_that_stands_twice_is_seen() -> None:
    block = "\n".join(f"x{i} = {i}" for i in range(TWICE))
    assert written_twice({"a": block, "b": f"# other\n{block}"}) == {frozenset({"a", "b"})}
    assert written_twice({"a": block, "b": block[:-8]}) == set()
