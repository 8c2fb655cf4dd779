"""Room: export. A run's networks in the formats of other programs, each checked by running it."""
