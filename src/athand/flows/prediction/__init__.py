"""Predicts the next action on a screen from past sessions.

`predict` tells the whole story: `history` and `session_index` read what past sessions did and were for, `rewrite` turns
their actions into actions for the current goal, `confidence` lets them vote, `page` locates what they name on the page,
`related` adds failing actions, related sessions and similar steps.
"""
