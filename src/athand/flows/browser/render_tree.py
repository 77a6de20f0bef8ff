"""Renders the tree of a page as text, in the manner of Playwright's aria_snapshot: small, with refs, limited. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from athand.flows.browser.page_tree import TEXT, TreeNode

DEFAULT_LENGTH, MAX_LENGTH = 8_000, 100_000  # characters of a rendered tree
_MAX_TEXT = 300  # characters of one text, unless a part of the page is asked for
_MIN_RUN = 2  # neighbours of one role that share a line
_SHOWN_ALIKE, _SHOWN_IN_RUN = 50, 200  # of neighbours of one shape, and of those that share a line
_COMPLETE_ROLES = frozenset("row listitem article treeitem option".split())  # found by a text, they are shown whole
_URGENT_ROLES = frozenset("dialog alertdialog alert".split())  # shown first where not all is shown
_INLINE_ROLES = frozenset("heading row listitem columnheader rowheader cell gridcell term definition".split())


def render_tree(tree: TreeNode, *, length: int = DEFAULT_LENGTH, is_part: bool = False) -> str:
    """The tree as lines, at most `length` characters; what is left out is counted."""
    longest = length if is_part else _MAX_TEXT
    text = "\n".join(_render_all(tree.children, "", longest))
    if len(text) <= length:
        return text
    urgent, others = _split_urgent(tree)
    lines = [*_render_all(urgent, "", longest), *_render_all(others, "", longest)]
    return _cut_lines(lines, length)


def find_part(tree: TreeNode, text: str) -> TreeNode:
    """The tree with only what contains a text, in names, texts, values or test ids, and where it is."""
    kept = (_prune(child, " ".join(text.split()).casefold()) for child in tree.children)
    return replace(tree, children=[each for each in kept if each])


def _prune(node: TreeNode, text: str) -> TreeNode | None:
    if any(text in own.casefold() for own in (node.name, node.value, node.test_id)):
        return node
    kept = [each for child in node.children if (each := _prune(child, text))]
    if not kept:
        return None
    return node if node.role in _COMPLETE_ROLES else replace(node, children=kept)


def _split_urgent(tree: TreeNode) -> tuple[list[TreeNode], list[TreeNode]]:
    """Dialogs and alerts, wherever they are, and the rest of the page."""
    urgent: list[TreeNode] = []

    def take(node: TreeNode) -> TreeNode:
        urgent.extend(each for each in node.children if each.role in _URGENT_ROLES)
        return replace(node, children=[take(each) for each in node.children if each.role not in _URGENT_ROLES])

    rest = take(tree)
    return urgent, rest.children


def _cut_lines(lines: Sequence[str], length: int) -> str:
    kept: list[str] = []
    used = 100  # for the last line
    for line in lines:
        used += len(line) + 1
        if used > length:
            break
        kept.append(line)
    return "\n".join([*kept, f"… and {len(lines) - len(kept)} more lines; name a part with root= or text="])


def _render_all(nodes: Sequence[TreeNode], indent: str, longest: int) -> Iterator[str]:
    """The lines of neighbours: those of one role share a line, and of many of one shape the first are shown."""
    for _, alike in groupby(_join_lines([_skip_wrappers(each) for each in nodes]), key=_shape):
        group = list(alike)
        if len(group) >= _MIN_RUN and not group[0].children and group[0].role != TEXT:
            yield _cut(f"{indent}- {_render_run(group, longest)}", group, _SHOWN_IN_RUN)
            continue
        for each in group[:_SHOWN_ALIKE]:
            yield from _render(each, indent, longest)
        if len(group) > _SHOWN_ALIKE:
            yield f"{indent}… and {len(group) - _SHOWN_ALIKE} more ({group[0].role})"


def _join_lines(nodes: Sequence[TreeNode]) -> list[TreeNode]:
    """What stands after a text in the same block shares its line; a label with the words of its element is left out."""
    lines: list[TreeNode] = []
    for node in nodes:
        last = lines[-1] if lines else None
        if last is None or last.role != TEXT or node.children or (node.is_apart and node.name != last.name):
            lines.append(node)
        elif node.name == last.name and not last.children:
            lines[-1] = node
        else:
            lines[-1] = replace(last, children=[*last.children, node])
    return lines


def _cut(line: str, group: Sequence[TreeNode], shown: int) -> str:
    return f"{line} | … and {len(group) - shown} more" if len(group) > shown else line


def _render_run(group: Sequence[TreeNode], longest: int) -> str:
    each = " | ".join(_render_own(node, longest, with_role=False) for node in group[:_SHOWN_IN_RUN])
    return f"{group[0].role} x{len(group)}: {each}"


def _render(node: TreeNode, indent: str, longest: int) -> Iterator[str]:
    head = f"{indent}- {_render_own(node, longest)}"
    if not node.children:
        yield head
    elif node.role == TEXT:
        yield " | ".join([head, *(_render_inline(each, longest) for each in node.children)])
    elif node.role in _INLINE_ROLES and all(map(_is_inline, node.children)):
        yield f"{head}: {' | '.join(_render_inline(each, longest) for each in node.children)}"
    elif len(node.children) == 1 and node.children[0].role == TEXT:
        yield f"{head}: {_render_inline(node.children[0], longest)}"
    else:
        yield f"{head}:"
        yield from _render_all(node.children, f"{indent}  ", longest)


def _is_inline(node: TreeNode) -> bool:
    return not node.children or (node.role in _INLINE_ROLES and all(not each.children for each in node.children))


def _render_inline(node: TreeNode, longest: int) -> str:
    if node.role == TEXT:
        return _render_own(node, longest, with_role=False)
    if node.role in ("cell", "gridcell") or (node.role in _INLINE_ROLES and node.children):
        return ", ".join(_render_inline(each, longest) for each in node.children)
    return _render_own(node, longest)


def _render_own(node: TreeNode, longest: int, *, with_role: bool = True) -> str:
    """One node without what is below it: role, name, states, ref, test id and value."""
    if node.role == TEXT:
        own = ["text:" if with_role else "", _shorten(node.name, longest), _show_test_id(node)]
        return " ".join(filter(None, own))
    name = f'"{_shorten(node.name, longest)}"' if node.name else ""
    ref = f"[{node.ref}]" if node.ref else ""
    own = [node.role if with_role else "", name, *(f"[{each}]" for each in node.states), ref, _show_test_id(node)]
    value = f": {_shorten(node.value, longest)}" if node.value else ""
    return " ".join(filter(None, own)) + value


def _show_test_id(node: TreeNode) -> str:
    return f"[testid={node.test_id}]" if node.is_test_id_shown and node.test_id else ""


def _shorten(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def _skip_wrappers(node: TreeNode) -> TreeNode:
    """A list item that holds one element is shown as that element."""
    while node.role == "listitem" and not node.ref and len(node.children) == 1 and node.children[0].role != TEXT:
        node = node.children[0]
    return node


def _shape(node: TreeNode) -> object:
    """What neighbours have in common to be shown together; texts, values and states may differ."""
    return node.role, tuple(each for each, _ in groupby(child.role for child in node.children))
