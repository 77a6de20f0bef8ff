"""Measure a source tree, so that two trees can be compared: python -m scripts.structure [--src PATH] [--package NAME].

Files, lines, lengths of functions, modules that only one other imports, functions that only pass on, names that are
bare participles, class names that stand in several modules. `--calls` also runs seven calls of the product on a small
store and counts the modules they enter and the calls that cross from one module to another; the package must then be
importable (PYTHONPATH). `--json` prints JSON.
"""

import argparse
import ast
import json
import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
Function = ast.FunctionDef | ast.AsyncFunctionDef

# Participles that no ending tells.
IRREGULAR = frozenset(
    "told kept made found known meant taken seen shown given held felt sent begun built bound bought brought caught "
    "done drawn driven fed gone grown heard hidden laid lent lost met paid said sold spent "
    "spoken stood stuck taught thought thrown understood won worn written".split()
)
# Words that end like participles and are none.
NOT_PARTICIPLES = frozenset(
    # verbs
    "embed feed need seed speed listen open reopen happen shorten flatten lengthen fasten bring ping sing string "
    # nouns
    "token screen children garden kitchen pattern thing nothing anything everything something string setting heading "
    "ranking embedding scoring timing warning mapping encoding spelling meaning padding spacing ending beginning "
    "opening rating docstring substring listing pairing hashing logging binding calling training being king ring wing "
    "spring morning evening feed seed deed bed hundred breed polling paging routing streaming greeting "
    # adjectives, conjunctions and adverbs
    "even often red green golden missing pending existing remaining matching following during seven ten eleven then "
    "when indeed sudden wooden between".split()
)
# A verb or a question comes first, and the participle is its object: is_closed, mark_deleted, count_related.
LEADS = frozenset(
    "is are was were has have can may must should needs when on if until as not "
    "mark wait print show count drop load check add note open stop list get find embed remove".split()
)
# Names that are given: methods of asyncio.Protocol, an MCP tool and its Python method and command.
GIVEN = frozenset({"connection_made", "data_received", "connection_lost", "memory_related", "related"})


@dataclass(frozen=True)
class Module:
    """A source file, parsed."""

    name: str
    path: Path
    lines: int
    tree: ast.Module

    def functions(self) -> Iterator[Function]:
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))

    def classes(self) -> Iterator[str]:
        return (node.name for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))


def is_participle(name: str) -> bool:
    """Whether a function's name is a bare participle, or a phrase that ends in one: told, _known, by_id_sorted."""
    words = name.strip("_").lower().split("_")
    last = words[-1]
    if name in GIVEN or last in NOT_PARTICIPLES or (len(words) > 1 and words[0] in LEADS) or name.startswith("__"):
        return False
    return last in IRREGULAR or (len(last) > 4 and last.endswith(("ed", "en", "ing")))


def read_modules(src: Path, package: str) -> list[Module]:
    """Every module of a package, by name."""
    modules = []
    for path in sorted((src / package).rglob("*.py")):
        text = path.read_text("utf-8")
        parts = path.relative_to(src).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules.append(Module(name, path, text.count("\n"), ast.parse(text)))
    return modules


def imported_modules(module: Module, known: set[str]) -> set[str]:
    """The modules of the package that a module imports, wherever in it."""
    here = module.name if module.path.name == "__init__.py" else module.name.rpartition(".")[0]
    targets: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            targets.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, here)
            targets.update(f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base for alias in node.names)
    return (targets & known) - {module.name}


def _base(node: ast.ImportFrom, here: str) -> str:
    if not node.level:
        return node.module or ""
    parent = ".".join(here.split(".")[: len(here.split(".")) - node.level + 1])
    return f"{parent}.{node.module}" if node.module else parent


def is_pass_through(function: Function) -> bool:
    """Whether all it does is to call another function with its own arguments, in their order."""
    body = [node for node in function.body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr) or function.decorator_list:
        return False
    call = body[0].value
    call = call.value if isinstance(call, ast.Await) else call
    if not isinstance(call, ast.Call):
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    names = [value.id if isinstance(value, ast.Name) else None for value in given]
    return bool(names) and names == _parameters(function)


def _parameters(function: Function) -> list[str]:
    parameters = [each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    return parameters[1:] if parameters[:1] in (["self"], ["cls"]) else parameters


def participles(modules: list[Module]) -> list[str]:
    """Functions and methods that are named by a participle, as module.function; not those inside of functions."""
    return [
        f"{module.name}.{function.name}"
        for module in modules
        for scope in ast.walk(module.tree)
        if isinstance(scope, ast.Module | ast.ClassDef)
        for function in scope.body
        if isinstance(function, Function) and is_participle(function.name)
    ]


def repeated_classes(modules: list[Module]) -> dict[str, list[str]]:
    """The class names that stand in more than one module, with the modules."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        for name in set(module.classes()):
            homes[name].append(module.name)
    return {name: found for name, found in sorted(homes.items()) if len(found) > 1}


def measure(src: Path, package: str) -> dict[str, object]:
    """All figures of a tree that can be read off its text."""
    modules = read_modules(src, package)
    lengths = [(node.end_lineno or 0) - node.lineno + 1 for module in modules for node in module.functions()]
    known = {module.name for module in modules}
    imports = {module.name: imported_modules(module, known) for module in modules}
    importers = [sum(name in others for others in imports.values()) for name in known]
    largest = max(modules, key=lambda module: module.lines)
    return {
        "files": len(modules),
        "lines": sum(module.lines for module in modules),
        "largest_file": {"module": largest.name, "lines": largest.lines},
        "functions": len(lengths),
        "function_lines": {"median": statistics.median(lengths), "p95": statistics.quantiles(lengths, n=20)[-1]},
        "single_importer": {
            "modules": importers.count(1),
            "share": round(importers.count(1) / len(modules), 3),
        },
        "pass_through": sum(is_pass_through(node) for module in modules for node in module.functions()),
        "participles": len(participles(modules)),
        "repeated_classes": {name: len(found) for name, found in repeated_classes(modules).items()},
        "imports_per_module": round(sum(map(len, imports.values())) / len(modules), 2),
    }


def _say(name: str, value: object) -> None:
    shown = ", ".join(f"{key} {each}" for key, each in value.items()) if isinstance(value, dict) else value
    print(f"{name.replace('_', ' '):26}{shown}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.structure", description=__doc__.splitlines()[0])
    parser.add_argument("--src", type=Path, default=ROOT / "src", help="the folder that holds the package")
    parser.add_argument("--package", help="default: the only package in that folder")
    parser.add_argument("--calls", action="store_true", help="also count module crossings of seven calls")
    parser.add_argument("--names", action="store_true", help="also list functions named by a participle")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    package = given.package or next(path.parent.name for path in given.src.glob("*/__init__.py"))
    figures = measure(given.src, package)
    if given.names:
        figures["participle_names"] = participles(read_modules(given.src, package))
    if given.calls:
        from scripts.structure_calls import count_calls

        figures["calls"] = count_calls(package)
    if given.json:
        print(json.dumps(figures, indent=2))
        return
    for name, value in figures.items():
        if name in ("calls", "participle_names"):
            print(f"{name.replace('_', ' ')}:")
            for each in value.items() if isinstance(value, dict) else ((each, "") for each in value):
                _say(f"  {each[0]}", each[1])
        else:
            _say(name, value)


if __name__ == "__main__":
    main()
