"""The report room: analyse a run (`findings`), draw it (`figures`, `pictures`), put it on one page (`page`)."""
