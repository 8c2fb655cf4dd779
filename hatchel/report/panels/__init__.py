"""The panels of a report, in files by what they show: a function under `@panel` appears where it draws something."""
