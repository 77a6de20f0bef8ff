"""Prompts that a person picks from a menu, filled in from the store."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from mcp import types

from athand.adapters.mcp.lean.compact import compact
from athand.adapters.mcp.lean.hits import lean_hits
from athand.adapters.mcp.render import render_hits
from athand.adapters.operations import AppContext
from athand.errors import InvalidInput
from athand.types import Hits

_FEW_HITS = 5
_MANY_HITS = 10

PromptArguments = Mapping[str, str]


def _render_search(found: Hits[Any]) -> str:
    return render_hits(compact(lean_hits(found.to_dict()).to_dict()))


@dataclass(frozen=True)
class _PromptTemplate:
    corpus: str
    title: str
    description: str
    arguments: Mapping[str, str]  # and their descriptions
    optional: Collection[str]
    render: Callable[[AppContext, PromptArguments], str]


def _render_recall(ctx: AppContext, arguments: PromptArguments) -> str:
    task, project = arguments["task"], arguments.get("project")
    brief = ctx.athand.memories.brief(project or "default")
    found = ctx.athand.search(task, limit=_MANY_HITS, project=project, catalogue=ctx.resolve_catalogues(None))
    return f"""My task: {task}

What is remembered of {project or "this work"}:

{brief or "Nothing yet."}

What fits the task:

{_render_search(found)}

Use what helps, say where it comes from, and tell me if something in it contradicts what I ask for."""


def _render_remember(ctx: AppContext, arguments: PromptArguments) -> str:
    project = arguments.get("project") or "default"
    brief = ctx.athand.memories.brief(project)
    return f"""Look back at our conversation and keep what will matter in later ones, in the project {project!r}.

Worth keeping: decisions with their reasons, preferences of mine, facts that were hard to find out, mistakes not to
repeat, and what is left to do. Not worth keeping: what the code or the documents say anyway, small talk, secrets.

Write each as one or two sentences that stand alone, with memory_add; choose its memory_type and a few tags. If it
replaces something that is remembered already, call memory_supersede with the old id and the new one.

What is remembered already:

{brief or "Nothing yet."}"""


def _render_find_tool(ctx: AppContext, arguments: PromptArguments) -> str:
    found = ctx.athand.tools.search(arguments["task"], limit=_FEW_HITS, catalogue=ctx.resolve_catalogues(None))
    return f"""My task: {arguments["task"]}

The tools that fit it best:

{_render_search(found)}

Look at the parameters of the one that fits with describe_tool, then call it with call_tool. If it changes something,
tell me first what it will do. If none fits, say so."""


def _render_walk(ctx: AppContext, arguments: PromptArguments) -> str:
    filters = {"app": arguments["app"]} if arguments.get("app") else None
    found = ctx.athand.flows.search(arguments["goal"], limit=_MANY_HITS, filters=filters)
    return f"""My goal in the browser: {arguments["goal"]}

What was done there before, and how it went:

{_render_search(found)}

Begin with what worked. Look at each screen before you act on it, and follow the suggestions that come with it."""


_PROJECT = "The project it belongs to"
_PROMPTS = {
    "recall": _PromptTemplate(
        "memories",
        "Recall",
        "Begin a task with what is known about it: the brief of the project, and what fits the task.",
        {"task": "What is to be done", "project": _PROJECT},
        ("project",),
        _render_recall,
    ),
    "remember": _PromptTemplate(
        "memories",
        "Remember",
        "Keep what matters of this conversation for later ones.",
        {"project": _PROJECT},
        ("project",),
        _render_remember,
    ),
    "find_tool": _PromptTemplate(
        "tools",
        "Find a tool",
        "The tools that fit a task, and how to use them.",
        {"task": "What is to be done"},
        (),
        _render_find_tool,
    ),
    "walk": _PromptTemplate(
        "flows",
        "Walk a flow",
        "Reach a goal in the browser with what earlier sessions have learnt.",
        {"goal": "What is to be reached", "app": "The app it is about"},
        ("app",),
        _render_walk,
    ),
}


class Prompts:
    """The prompts of the corpora that are offered."""

    def __init__(self, ctx: AppContext, corpora: Collection[str]) -> None:
        self._ctx = ctx
        self._prompts = {name: each for name, each in _PROMPTS.items() if each.corpus in corpora}

    def list_prompts(self) -> list[types.Prompt]:
        """The prompts with their arguments, as prompts/list returns them."""
        return [_to_mcp_prompt(name, each) for name, each in self._prompts.items()]

    def get(self, name: str, arguments: PromptArguments) -> types.GetPromptResult:
        """A prompt, filled in."""
        prompt = self._prompts.get(name)
        if prompt is None:
            raise InvalidInput(f"No prompt {name!r}. There are: {', '.join(self._prompts) or 'none'}.")
        missing = [
            each for each in prompt.arguments if each not in prompt.optional and not arguments.get(each, "").strip()
        ]
        unknown = sorted(arguments.keys() - prompt.arguments.keys())
        if missing or unknown:
            raise InvalidInput(
                f"The prompt {name} takes: {', '.join(prompt.arguments)}; {_describe_errors(missing, unknown)}."
            )
        text = types.TextContent(text=prompt.render(self._ctx, arguments))
        return types.GetPromptResult(
            description=prompt.description, messages=[types.PromptMessage(role="user", content=text)]
        )


def _to_mcp_prompt(name: str, prompt: _PromptTemplate) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=each, description=meaning, required=each not in prompt.optional)
        for each, meaning in prompt.arguments.items()
    ]
    return types.Prompt(name=name, title=prompt.title, description=prompt.description, arguments=arguments)


def _describe_errors(missing: list[str], unknown: list[str]) -> str:
    parts = [f"missing: {', '.join(missing)}"] if missing else []
    return "; ".join([*parts, *([f"not known: {', '.join(unknown)}"] if unknown else [])])
