"""Changes one entry in a configuration file of another program; the rest of the file stays as it is."""
