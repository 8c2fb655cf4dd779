"""The command line: one file a command, mounted in main.py. Heavy imports wait until a command runs."""
