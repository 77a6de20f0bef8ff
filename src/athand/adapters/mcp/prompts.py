"""A few prompts: what a person picks from a menu, filled with what is known."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from mcp import types

from athand.adapters.mcp.reading import read_hits
from athand.adapters.operations import AppContext
from athand.adapters.operations.catalogues import resolve_catalogues
from athand.errors import InvalidInput

_FEW = 5
_MANY = 10

Given = Mapping[str, str]


@dataclass(frozen=True)
class _Prompt:
    corpus: str
    title: str
    description: str
    arguments: Mapping[str, str]  # and what each means; the first is needed unless it is optional
    optional: Collection[str]
    text: Callable[[AppContext, Given], str]


def _recall(at: AppContext, given: Given) -> str:
    task, project = given["task"], given.get("project")
    brief = at.athand.memories.brief(project or "default")
    found = at.athand.search(task, limit=_MANY, project=project, catalogue=resolve_catalogues(at, None))
    return f"""My task: {task}

What is remembered of {project or "this work"}:

{brief or "Nothing yet."}

What fits the task:

{_hits(found)}

Use what helps, say where it comes from, and tell me if something in it contradicts what I ask for."""


def _remember(at: AppContext, given: Given) -> str:
    project = given.get("project") or "default"
    brief = at.athand.memories.brief(project)
    return f"""Look back at our conversation and keep what will matter in later ones, in the project {project!r}.

Worth keeping: decisions with their reasons, preferences of mine, facts that were hard to find out, mistakes not to
repeat, and what is left to do. Not worth keeping: what the code or the documents say anyway, small talk, secrets.

Write each as one or two sentences that stand alone, with memory_add; choose its memory_type and a few tags. If it
replaces something that is remembered already, call memory_supersede with the old id and the new one.

What is remembered already:

{brief or "Nothing yet."}"""


def _find_tool(at: AppContext, given: Given) -> str:
    found = at.athand.tools.search(given["task"], limit=_FEW, catalogue=resolve_catalogues(at, None))
    return f"""My task: {given["task"]}

The tools that fit it best:

{_hits(found)}

Look at the parameters of the one that fits with describe_tool, then call it with call_tool. If it changes something,
tell me first what it will do. If none fits, say so."""


def _walk(at: AppContext, given: Given) -> str:
    filters = {"app": given["app"]} if given.get("app") else None
    found = at.athand.flows.search(given["goal"], limit=_MANY, filters=filters)
    return f"""My goal in the browser: {given["goal"]}

What was done there before, and how it went:

{_hits(found)}

Begin with what worked. Look at each screen before you act on it, and follow the suggestions that come with it."""


def _hits(found: Any) -> str:
    return read_hits(found.to_dict())


_PROJECT = "The project it belongs to"
_PROMPTS = {
    "recall": _Prompt(
        "memories",
        "Recall",
        "Begin a task with what is known about it: the brief of the project, and what fits the task.",
        {"task": "What is to be done", "project": _PROJECT},
        ("project",),
        _recall,
    ),
    "remember": _Prompt(
        "memories",
        "Remember",
        "Keep what matters of this conversation for later ones.",
        {"project": _PROJECT},
        ("project",),
        _remember,
    ),
    "find_tool": _Prompt(
        "tools",
        "Find a tool",
        "The tools that fit a task, and how to use them.",
        {"task": "What is to be done"},
        (),
        _find_tool,
    ),
    "walk": _Prompt(
        "flows",
        "Walk a flow",
        "Reach a goal in the browser with what earlier sessions have learnt.",
        {"goal": "What is to be reached", "app": "The app it is about"},
        ("app",),
        _walk,
    ),
}


class Prompts:
    """The prompts of the corpora that are offered."""

    def __init__(self, workspace: AppContext, corpora: Collection[str]) -> None:
        self._workspace = workspace
        self._prompts = {name: each for name, each in _PROMPTS.items() if each.corpus in corpora}

    def listed(self) -> list[types.Prompt]:
        """All of them, with what they ask for."""
        return [_listed(name, each) for name, each in self._prompts.items()]

    def get(self, name: str, given: Given) -> types.GetPromptResult:
        """One of them, filled in."""
        prompt = self._prompts.get(name)
        if prompt is None:
            raise InvalidInput(f"No prompt {name!r}. There are: {', '.join(self._prompts) or 'none'}.")
        missing = [each for each in prompt.arguments if each not in prompt.optional and not given.get(each, "").strip()]
        unknown = sorted(given.keys() - prompt.arguments.keys())
        if missing or unknown:
            raise InvalidInput(f"The prompt {name} takes: {', '.join(prompt.arguments)}; {_wrong(missing, unknown)}.")
        text = types.TextContent(text=prompt.text(self._workspace, given))
        return types.GetPromptResult(
            description=prompt.description, messages=[types.PromptMessage(role="user", content=text)]
        )


def _listed(name: str, prompt: _Prompt) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=each, description=meaning, required=each not in prompt.optional)
        for each, meaning in prompt.arguments.items()
    ]
    return types.Prompt(name=name, title=prompt.title, description=prompt.description, arguments=arguments)


def _wrong(missing: list[str], unknown: list[str]) -> str:
    parts = [f"missing: {', '.join(missing)}"] if missing else []
    return "; ".join([*parts, *([f"not known: {', '.join(unknown)}"] if unknown else [])])
