"""The command line: one file per command, mounted in main.py. Heavy imports wait until a command runs."""
