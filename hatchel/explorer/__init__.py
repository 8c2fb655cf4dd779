"""A run explored in the browser: what the page can ask for (`session`), a server for it (`server`, behind `security`),
and a folder that needs no server (`static`).
"""
