"""Sessions as Playwright tests."""
