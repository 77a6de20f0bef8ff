"""The surfaces: thin translations of one service layer."""
