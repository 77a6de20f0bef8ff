"""Splits a request into phrases that each say one wish: at the ends of sentences, and before "and" with a verb."""

import re

from athand.text import tokenize

MOST_PHRASES = 6  # of a request, that are embedded separately
# What a wish begins with. Other words after "and" mostly go on with a list: "the name and address of the customer".
_VERBS = """
    add analyze answer apply arrange ask assign attach book build buy calculate call cancel change check choose
    clean close collect combine commit compare compress compute configure connect convert copy correct count create
    cut decide delete deploy describe design detect determine display download draw edit enable estimate evaluate
    explain export extract fetch file filter find fix forecast forward generate get give help identify import
    improve insert install invite join label launch list load locate look make measure merge monitor move navigate
    notify open optimize order organize pay plan play post postpone predict prepare print provide publish put query
    read recommend record redo remember remind remove rename repeat replace reply report reserve reset resize
    restart restore retrieve return review run save say schedule search select sell send set share show sort split
    start stop store suggest summarize switch tell test track transfer translate turn undo update upload use
    validate verify visualize watch write
"""
_QUESTIONS = "are can could do does how i is let please what when where which who why"
_BEGINNINGS = "|".join(f"{_VERBS} {_QUESTIONS}".split())
_BETWEEN = re.compile(rf"(?<=[.!?;])\s+|\n+|,?\s+(?:(?:and|then|also)\s+)+(?=(?:{_BEGINNINGS})\b)", re.IGNORECASE)


def split_request(text: str) -> list[str]:
    """The phrases of a request that has more than one."""
    phrases = [part for part in _BETWEEN.split(text.strip()) if len(tokenize(part)) > 1][:MOST_PHRASES]
    return phrases if len(phrases) > 1 else []
