"""Commands over the whole store: search, status, reindex."""

import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli import options
from athand.adapters.cli.answers import print_answer
from athand.adapters.cli.session import Progress, Session, command, start_session
from athand.adapters.cli.tools_catalogues import servers_file
from athand.adapters.cli.words import echo, pluralize

if TYPE_CHECKING:
    from athand.corpus import AnyCorpus
    from athand.types import Status

_top = click.Group()
_STEPS = ("step of flows", "steps of flows")  # what is indexed of flows
_VERDICT = {False: " The index was already identical.", True: " The old index differed; the new one is right."}


def _complete_corpus(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    from athand.app import CORPORA

    return [each.name for each in (*CORPORA, *start_session(context).corpora) if each.name.startswith(typed)]


@command(_top, "search")
@options.query
@options.of("app:Athand.search", "corpora", metavar="NAME", shell_complete=_complete_corpus)
@options.of("app:Athand.search", "project", "folder_id", "app", "limit", "min_score")
@options.explain
def search(session: Session, query: str, explain: bool, **given: Any) -> None:
    """Search memories, documents, tools and flows with one question.

    \b
    Examples:
      athand search "how do I deploy to staging?"
      athand search "token rotation" --project shop --explain
      athand search "token rotation" --folder notes
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.search import default_corpora

    with session.open() as athand:
        catalogue = athand.tools.load_all(user=servers_file(session), folder=Path.cwd())
        started = time.perf_counter()
        hits = athand.search(
            query, catalogue=catalogue, home=session.find_home(given["project"]), **options.drop_unset(given)
        )
        seconds = time.perf_counter() - started
        corpora = given["corpora"] or default_corpora(athand.corpora, options.drop_unset(given))
        further = shlex.join(["athand", "search", query, "--min-score", "0"]) if given["min_score"] is None else None
        print_answer(session, athand, hits, seconds, explain=explain, corpora=corpora, further=further)


def make_corpus_search(group: click.Group, corpus: "type[AnyCorpus]") -> click.Command:
    """The search of a corpus of one's own, with the parameters of its method `search` as options."""
    from athand.parameters import parameters_of

    method = getattr(corpus, "search")  # noqa: B009  # the base class has none

    @options.query
    @options.of(method, *(name for name in parameters_of(method) if name != "query"))
    @options.explain
    def search(session: Session, query: str, explain: bool, **given: Any) -> None:
        with session.open() as athand:
            started = time.perf_counter()
            hits = getattr(athand.corpora[corpus.name], "search")(query, **options.drop_unset(given))  # noqa: B009
            seconds = time.perf_counter() - started
            print_answer(session, athand, hits, seconds, explain=explain, corpora=(corpus.name,))

    search.__doc__ = method.__doc__
    return command(group, "search")(search)


@command(_top, "status")
@click.option("--check", is_flag=True, help="Read the whole store and verify it.")
@click.option("--problems", "with_files", is_flag=True, help="Also list damage of the store and files with problems.")
def status(session: Session, check: bool, with_files: bool) -> None:
    """Show what the store holds and every problem.

    \b
    Examples:
      athand status
      athand status --problems
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        found = athand.status()
        damage = athand.check() if check or with_files else []
        files = athand.documents.problems() if with_files else []
    problems = [*found.problems, *damage]
    if session.as_json:
        more = {"document_problems": [each.to_dict() for each in files]} if with_files else {}
        session.show(found.to_dict() | {"problems": problems} | more)
    elif session.quiet:
        echo("".join(f"{each}\n" for each in problems), nl=False)
    else:
        _print_status(found, problems, checked=check or with_files)
        if files:
            from athand.adapters.cli.render_documents import print_problems

            print_problems(session.console(), files)
        if with_files and not problems and not files:
            session.say(" No problems.")
    if damage:
        raise SystemExit(65)


def _print_status(status: "Status", problems: list[str], *, checked: bool) -> None:
    memories, model = status.corpora["memories"], status.model
    size = f"{status.store['bytes'] / 1e6:.1f} MB" + (" · checked" if checked else "")
    lines = {
        "store": f"{status.store['location']} · {size}",
        "model": f"{model['name']} · {model['dimensions'] or '?'} dimensions",
        "memories": f"{memories['count']:,} in {pluralize(memories['projects'], 'project')}",
        "documents": _describe_documents(status),
        "tools": _describe_tools(status),
        "flows": _describe_flows(status),
    }
    lines |= {name: f"{report['count']:,}" for name, report in status.corpora.items() if name not in lines}
    worries = _find_worries(status)
    for name, text in lines.items():
        mark = click.style("!", fg="yellow") if name in worries else click.style("✓", fg="green")
        echo(f" {mark} {name:<10} {text}")
    for problem in problems:
        echo(f" {click.style('!', fg='yellow')} {problem}")


def _find_worries(status: "Status") -> set[str]:
    """The lines of the status that need a look."""
    folders, servers = status.corpora["documents"]["folders"], status.corpora["tools"]["servers"]
    is_waiting = bool(status.corpora["tools"]["waiting"])
    wrong = {
        "model": not status.model["working"],
        "documents": any(each["reason"] for each in folders),
        "tools": is_waiting or any(each["reason"] for each in servers),
    }
    return {name for name, is_wrong in wrong.items() if is_wrong}


def _describe_documents(status: "Status") -> str:
    documents = status.corpora["documents"]
    folders: Sequence[dict[str, Any]] = documents["folders"]
    wrong = sum(each["problems"] for each in folders)
    pieces = [f"{documents['count']:,} in {pluralize(len(folders), 'folder')}"]
    pieces += [pluralize(documents["chunks"], "chunk")] if folders else []
    pieces += [f"{pluralize(wrong, 'file')} with problems, see: athand docs status --problems"] if wrong else []
    return " · ".join(pieces)


def _describe_tools(status: "Status") -> str:
    tools = status.corpora["tools"]
    return f"{tools['count']:,} of {pluralize(len(tools['servers']), 'server')}"


def _describe_flows(status: "Status") -> str:
    flows = status.corpora["flows"]
    pieces = (pluralize(flows["count"], "session"), pluralize(flows["steps"], "step"), pluralize(flows["apps"], "app"))
    return " · ".join(pieces)


@command(_top, "reindex")
@click.option("--verify", is_flag=True, help="Compare the old index with the new one; exit 65 if they differ.")
def reindex(session: Session, verify: bool) -> None:
    """Rebuild every index from what is stored; nothing stored is changed.

    Files of documents are not read again; `athand docs refresh` reads those that have changed.
    """
    with session.open() as athand, session.show_progress("Indexing") as progress:
        corpora = athand.corpora.values()
        before = [corpus.fingerprint() for corpus in corpora] if verify else []
        counts = {corpus.name: _reindex(corpus, progress) for corpus in corpora}
        differs = verify and before != [corpus.fingerprint() for corpus in corpora]
    if session.as_json:
        session.show(counts | ({"identical": not differs} if verify else {}))
    else:
        session.say(f"Indexed {_describe_counts(athand.corpora, counts)}." + (_VERDICT[differs] if verify else ""))
    if differs:
        raise SystemExit(65)


def _reindex(corpus: "AnyCorpus", progress: Progress) -> int:
    """Reindex one corpus; returns how many items or passages there are."""
    total = corpus.size()
    return corpus.reindex(lambda done: progress(done, total, f"Indexing {corpus.name}"))


def _describe_counts(corpora: Mapping[str, "AnyCorpus"], counts: Mapping[str, int]) -> str:
    nouns = {name: (corpus.noun, name) for name, corpus in corpora.items()} | {"flows": _STEPS}
    *pieces, last = (pluralize(count, *nouns[name]) for name, count in counts.items())
    return f"{', '.join(pieces)} and {last}"
