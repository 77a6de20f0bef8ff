"""What earlier sessions know about a screen, and what probably comes next on it."""
