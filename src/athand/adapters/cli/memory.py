"""`athand memory …`: add, find, change and relate memories; and the group of all commands on memories."""

import shlex
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from athand.adapters.cli import memory_sessions, memory_transfer, options
from athand.adapters.cli.completion_values import complete_memory
from athand.adapters.cli.session import Command, SectionedGroup, Session, command, confirm, read_standard_input
from athand.adapters.cli.words import draw_bar, echo, format_fraction, label_memory, pluralize, to_one_line

if TYPE_CHECKING:
    from athand.memories import Memories, Memory

_find_commands, _change_commands, _relate_commands = click.Group(), click.Group(), click.Group()
_FILTERS = ("project", "sector", "tier", "memory_type", "tags", "in_session", "min_salience")
_DETAILS = ("summary", "context", "author", "memory_type", "sector", "tier", "importance", "tags", "concepts", "files")
# What `update --clear` can empty: the field, and what it holds when there is nothing in it.
_CLEARABLE: dict[str, tuple[str, Any]] = {
    "summary": ("summary", None),
    "context": ("context", None),
    "author": ("author", None),
    "type": ("memory_type", None),
    "valid-until": ("valid_until", None),
    "tags": ("tags", ()),
    "concepts": ("concepts", ()),
    "files": ("files", ()),
}


# Add and find


@command(_find_commands, "add", creates=True)
@click.argument("content")
@options.of("memories:Memories.add", "project", "session", *_DETAILS)
@options.of("memories:Memories.add", "written_by", default="user")
@options.of("memories:Memories.add", "created_at", "valid_from", "valid_until")
@options.of("memories:Memories.add", "pinned", flags="--pin")
@options.of("memories:Memories.add", "id", "key")
def add(session: Session, /, content: str, **given: Any) -> None:
    """Remember CONTENT; `-` reads it from standard input.

    Once the command returns, the memory survives a crash or a power cut. A text that says the same as an existing
    memory reinforces that one instead. Similar memories are shown, so that the new one can supersede them.

    \b
    Example:
      athand memory add "Auth tokens rotate every 12 h" --project shop --type decision --tag auth
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    text = read_standard_input() if content == "-" else content
    with session.open() as athand:
        added = athand.memories.add(text, **options.drop_unset(given))
    if session.print_plain(added):
        return
    _print_added(session, added)
    if not added.deduplicated and added.content != text:
        session.say(" What looked secret, or was marked private, was left out.")


def _print_added(session: Session, added: "Memory") -> None:
    """The id and the title of a memory, and whether there was one that says the same."""
    name = f"{click.style(added.id, fg='cyan')} in {added.project}: {to_one_line(added.title)}"
    if added.deduplicated:
        echo(f"Remembered already as {name}")
        session.say(" It was reinforced instead of added twice.")
        return
    echo(f"Remembered {name}")
    if added.is_deleted:
        session.say(f" It was deleted since. Bring it back with: athand memory restore {added.id}")
    if added.similar:
        from athand.adapters.cli.render_memories import print_similar

        print_similar(session.console(stderr=True), added)


@command(_find_commands, "search")
@options.query
@options.of("memories:Memories.search", *_FILTERS, "limit", "min_score", "include_superseded", "include_documents")
@options.of("memories:Memories.search", "since", "until", "as_of", "mode", "session", "reinforce")
@options.of("memories:Memories.search", "weights", type=click.Choice(("default", "seed")), default="default")
@options.explain
def search(session: Session, /, query: str, weights: str, explain: bool, **given: Any) -> None:
    """Find memories by word and by meaning.

    \b
    Examples:
      athand memory search "how do tokens rotate?" --project shop
      athand memory search "what did we decide?" --since 7d
      athand memory search "token lifetime" --as-of 2025-11-01 --explain
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    from athand.adapters.cli.answers import print_answer
    from athand.memories import SEED_WEIGHTS

    started = time.perf_counter()
    with session.open() as athand:
        seed = SEED_WEIGHTS if weights == "seed" else None
        hits = athand.memories.search(
            query, weights=seed, home=session.find_home(given["project"]), **options.drop_unset(given)
        )
        corpora = ("memories", "documents") if given["include_documents"] else ("memories",)
        print_answer(session, athand, hits, time.perf_counter() - started, explain=explain, corpora=corpora)


@command(_find_commands, "documents")
@options.query
@options.of("memories:Memories.search_documents", "project", "limit")
def documents(session: Session, /, query: str, **given: Any) -> None:
    """Search the documents of a project; without a project, those of all folders."""
    from athand.adapters.cli.answers import print_answer

    started = time.perf_counter()
    with session.open() as athand:
        hits = athand.memories.search_documents(query, **options.drop_unset(given))
        seconds = time.perf_counter() - started
        print_answer(session, athand, hits, seconds, explain=False, corpora=("documents",))


def _filter_options(function: Command) -> Command:
    """The options of `list` and `forget`: which memories are chosen."""
    method = "memories:Memories.list"
    for add_options in (
        options.of(method, "superseded", flags="--superseded/--current"),
        options.of(method, "pinned", flags="--pinned/--not-pinned"),
        options.of(method, *_FILTERS, "max_salience", "author", "written_by", "since", "until", "as_of"),
    ):
        function = add_options(function)
    return function


@command(_find_commands, "list")
@_filter_options
@options.of("memories:Memories.list", "limit", "include_deleted")
def list_(session: Session, /, limit: int, include_deleted: bool, **filters: Any) -> None:
    """List the newest memories.

    \b
    Example:
      athand memory list --project shop --type decision --since 2026-01-01
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    wanted = options.drop_unset(filters)
    with session.open() as athand:
        memories = athand.memories.list(limit=limit, include_deleted=include_deleted, **wanted)
        hint = "" if memories else memory_sessions.suggest_project(athand.memories, filters["project"])
    if session.print_plain(memories):
        return
    if memories:
        from athand.adapters.cli.render_memories import print_memories

        print_memories(session.console(), memories)
    elif wanted:
        session.say(f"No memory passes these filters.{hint}")
    else:
        session.say('Nothing remembered yet. Begin with: athand memory add "…"')


@command(_find_commands, "show")
@options.memory_id
def show(session: Session, /, id: str) -> None:
    """Show one memory in full.

    Who said it and who wrote it down, how long it holds, its salience now, its session, and its relations.
    """
    with session.open() as athand:
        found = athand.memories.get(id)
        related = athand.memories.related(id)
        used = athand.memories.session_context(id)
    if not session.print_plain(found, data="content"):
        from athand.adapters.cli.render_memories import print_memory

        print_memory(session.console(), found, related, used)


# Change


@command(_change_commands, "update")
@options.memory_id
@options.of("memories:Memories.update", "content", help="Another text; `-` reads it from standard input.")
@options.of("memories:Memories.update", *_DETAILS, "valid_until")
@click.option("--clear", multiple=True, type=click.Choice(tuple(_CLEARABLE)), help="Empty a field; may be repeated.")
@options.of("memories:Memories.update", "session", "expected_updated_at")
def update(session: Session, /, id: str, clear: tuple[str, ...], **given: Any) -> None:
    """Change some fields of a memory.

    Tags, concepts and files are replaced as a whole.

    \b
    Examples:
      athand memory update ID --content "Auth tokens rotate every 6 h" --tag auth --tag audit
      athand memory update ID --clear tags --clear valid-until
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    changes = options.drop_unset(given) | dict(_CLEARABLE[name] for name in clear)
    if not changes.keys() - {"session", "expected_updated_at"}:
        raise click.UsageError("Change what? Give at least one field, such as --content or --tag.")
    if changes.get("content") == "-":
        changes["content"] = read_standard_input()
    with session.open() as athand:
        changed = athand.memories.update(id, changed_by="user", **changes)
    is_redacted = changes.get("content") not in (None, changed.content)
    note = "\n What looked secret, or was marked private, was left out." if is_redacted else ""
    session.report(changed, f"Updated {label_memory(changed)}{note}")


@command(_change_commands, "delete")
@options.memory_id
@options.of("memories:Memories.delete", "hard")
@click.option("--yes", is_flag=True, help="Do not ask before a hard delete.")
def delete(session: Session, /, id: str, hard: bool, yes: bool) -> None:
    """Delete a memory.

    It is out of every search at once; `restore` brings it back within 30 days, unless it was a hard delete.
    """
    with session.open() as athand:
        found, old_memories = athand.memories.get(id), _list_superseded(athand.memories, id)
        if hard and not yes:
            confirm(f"Erase {found.title!r} for good?")
        deleted = athand.memories.delete(id, hard=hard)
    lines = [f"{'Erased' if hard else 'Deleted'} {label_memory(deleted)}"]
    lines += [] if hard else [f"Bring it back with: athand memory restore {id}"]
    for old in old_memories:
        lines += [f"It had superseded {label_memory(old)}"]
        lines += [f"Let that hold again with: athand memory unsupersede {old.id}"]
    session.report(deleted, "\n".join(lines))


def _list_superseded(memories: "Memories", id_: str) -> "list[Memory]":
    """The memories that a memory supersedes."""
    related = memories.related(id_)
    return [each.memory for each in related if (each.relation.type, each.relation.source_id) == ("SUPERSEDES", id_)]


@command(_change_commands, "restore")
@options.memory_id
def restore(session: Session, /, id: str) -> None:
    """Bring a deleted memory back."""
    with session.open() as athand:
        memory = athand.memories.restore(id)
    session.report(memory, f"Restored {label_memory(memory)}")


@command(_change_commands, "forget")
@_filter_options
@options.of("memories:Memories.forget", "hard", "limit")
@click.option("--yes", is_flag=True, help="Delete them; without it they are only listed.")
def forget(session: Session, /, hard: bool, limit: int, yes: bool, **filters: Any) -> None:
    """Delete every memory that passes all filters.

    Only lists them, until you say --yes. Pinned ones stay, unless you say --pinned.

    \b
    Examples:
      athand memory forget --project shop --sector episodic --until 2025-01-01
      athand memory forget --max-salience 0.1 --yes
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        memories = athand.memories.forget(dry_run=not yes, hard=hard, limit=limit, **options.drop_unset(filters))
    if session.print_plain(memories):
        return
    if memories and not yes:
        from athand.adapters.cli.render_memories import print_memories

        print_memories(session.console(), memories)
    session.say(_describe_forget(len(memories), hard=hard, done=yes))
    if len(memories) == limit:
        session.say(f"That is the limit of {limit:,} at a time; there may be more. Run it again.")


def _describe_forget(count: int, *, hard: bool, done: bool) -> str:
    memories = pluralize(count, "memory", "memories")
    if not count:
        return "No memory passes these filters; nothing to forget."
    if not done:
        again = shlex.join(["athand", *sys.argv[1:], "--yes"])
        return f"\n {memories} would be {'erased for good' if hard else 'forgotten'}. Do it with:\n   {again}"
    return f"Erased {memories} for good." if hard else f"Forgot {memories}. Each comes back with: athand memory restore"


@command(_change_commands, "pin")
@options.memory_id
def pin(session: Session, /, id: str) -> None:
    """Never let a memory fade, and put it first in every brief."""
    with session.open() as athand:
        memory = athand.memories.pin(id, changed_by="user")
    session.report(memory, f"Pinned {label_memory(memory)}")


@command(_change_commands, "unpin")
@options.memory_id
def unpin(session: Session, /, id: str) -> None:
    """Let a memory fade again."""
    with session.open() as athand:
        memory = athand.memories.unpin(id)
    session.report(memory, f"Unpinned {label_memory(memory)}")


@command(_change_commands, "reinforce")
@options.memory_id
@options.of("memories:Memories.reinforce", "amount", "session")
def reinforce(session: Session, /, id: str, **given: Any) -> None:
    """Say that a memory matters: its salience rises."""
    with session.open() as athand:
        memory = athand.memories.reinforce(id, **options.drop_unset(given))
    session.report(memory, f"Reinforced {label_memory(memory)}\n{_describe_salience(memory)}")


@command(_change_commands, "deemphasize")
@options.memory_id
@options.of("memories:Memories.deemphasize", "amount")
def deemphasize(session: Session, /, id: str, **given: Any) -> None:
    """Say that a memory matters less: its salience falls."""
    with session.open() as athand:
        memory = athand.memories.deemphasize(id, **options.drop_unset(given))
    session.report(memory, f"Deemphasized {label_memory(memory)}\n{_describe_salience(memory)}")


def _describe_salience(memory: "Memory") -> str:
    value = memory.effective_salience
    return f" salience {click.style(draw_bar(value), fg='blue')} {format_fraction(value)}"


# Replace and relate


@command(_relate_commands, "supersede")
@click.argument("old", shell_complete=complete_memory)
@click.argument("new", shell_complete=complete_memory)
@options.of("memories:Memories.supersede", "by")
def supersede(session: Session, /, old: str, new: str, by: str) -> None:
    """Let the memory NEW take the place of OLD.

    OLD stays, and is found with --superseded, or with --as-of a time when it held.
    """
    with session.open() as athand:
        ended = athand.memories.supersede(old, new, by=by)
        successor = athand.memories.get(new)
    undo = f"Undo it with: athand memory unsupersede {old}"
    session.report(ended, f"Superseded {label_memory(ended)}\n        by {label_memory(successor)}\n{undo}")


@command(_relate_commands, "unsupersede")
@click.argument("old", shell_complete=complete_memory)
def unsupersede(session: Session, /, old: str) -> None:
    """Let the superseded memory OLD hold again."""
    with session.open() as athand:
        memory = athand.memories.unsupersede(old)
    session.report(memory, f"Holds again: {label_memory(memory)}")


@command(_relate_commands, "relate")
@click.argument("source", shell_complete=complete_memory)
@options.argument("memories:Memories.relate", "type")
@click.argument("target", shell_complete=complete_memory)
@options.of("memories:Memories.relate", "by")
def relate(session: Session, /, source: str, target: str, **given: Any) -> None:
    """Relate the memory SOURCE to TARGET; the type says what SOURCE is to it.

    \b
    Example:
      athand memory relate SOURCE builds_on TARGET
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    with session.open() as athand:
        relation = athand.memories.relate(source, target, **given)
        ends = [athand.memories.get(id_) for id_ in (source, target)]
    if not session.print_plain(relation, data="type"):
        session.say(f"{label_memory(ends[0])}\n  {relation.type}\n{label_memory(ends[1])}")


@command(_relate_commands, "related")
@options.memory_id
def list_related(session: Session, /, id: str) -> None:
    """Show the relations of a memory.

    An arrow to the right is what it says of others, to the left what they say of it.
    """
    with session.open() as athand:
        found = athand.memories.related(id)
    if session.as_json:
        session.show([each.to_dict() for each in found])
    elif session.quiet:
        session.print_plain([each.memory for each in found])
    elif found:
        from athand.adapters.cli.render_memories import print_related

        print_related(session.console(), id, found)
    else:
        session.say(f"Related with nothing. Relate it with: athand memory relate {id} RELATED_TO TARGET")


memory = SectionedGroup(
    "memory",
    help="Keep and find what should be remembered.",
    sections={
        "Keep and find": _find_commands,
        "Change": _change_commands,
        "Replace and relate": _relate_commands,
        "Time and sessions": memory_sessions.commands,
        "Everything": memory_transfer.commands,
    },
)
