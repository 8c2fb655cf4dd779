"""What everything stands on: specs, errors, plug-ins, files, random streams, processes. Nothing about VAEs."""
