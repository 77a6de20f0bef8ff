"""History: transcripts of past sessions with agents, read turn by turn into memories."""
