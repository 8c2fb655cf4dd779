"""The report room: examine a run (`findings`), draw it (`figures`, `pictures`), put it on one page (`page`)."""
