"""Changing files that belong to others: one entry, and all the rest stays as it is."""
