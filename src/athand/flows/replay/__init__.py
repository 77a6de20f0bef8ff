"""Doing again what a session did, also where a page has changed."""
