"""Scanner for tool poisoning: flags what is suspicious in the definition of a tool. Compiling it takes a while."""
