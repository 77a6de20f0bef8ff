"""Over HTTP: routes for programs, and how their answers look."""
