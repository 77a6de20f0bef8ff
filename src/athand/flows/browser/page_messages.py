"""What became visible on a page: messages first, then the new title, dialogs, headings, and other texts. Pure."""

from collections.abc import Iterator

from athand.flows.browser.page_tree import TEXT, TreeNode
from athand.flows.browser.snapshot import PageSnapshot
from athand.flows.model import TITLE

MAX_APPEARED = 3  # texts of one step
_MAX_LENGTH = 150  # characters of one of them
_MESSAGE, _TITLE, _DIALOG, _HEADING, _OTHER = range(5)
_DIALOG_ROLES = ("dialog", "alertdialog")
_MIN_LETTERS = 3  # a clock is no message


def find_appeared(before: PageSnapshot | None, after: PageSnapshot) -> tuple[str, ...]:
    """The texts that are on a page and were not there before, the most telling first; none without a page before."""
    if before is None or before is after:
        return ()
    seen = {text for _, text in _list_texts(before)}
    is_same_page = before.document_id == after.document_id
    new = {
        text[:_MAX_LENGTH]: rank
        for rank, text in sorted(_list_texts(after), reverse=True)
        if text not in seen and (is_same_page or rank < _OTHER)
    }
    return tuple(sorted(new, key=lambda text: new[text])[:MAX_APPEARED])


def _list_texts(page: PageSnapshot) -> Iterator[tuple[int, str]]:
    """All texts of a page that are words, each with its rank."""
    texts = [(_TITLE, f"{TITLE}{page.title}" if page.title else ""), *_walk(page.tree, is_message=False)]
    return ((rank, text) for rank, text in texts if sum(map(str.isalpha, text)) >= _MIN_LETTERS)


def _walk(node: TreeNode, *, is_message: bool) -> Iterator[tuple[int, str]]:
    is_message = is_message or node.is_message
    if node.role == TEXT:
        yield _MESSAGE if is_message else _OTHER, node.name
    elif node.role in _DIALOG_ROLES:
        yield _DIALOG, node.name
    elif node.role == "heading":
        yield _HEADING, node.name
    for child in node.children:
        yield from _walk(child, is_message=is_message)
