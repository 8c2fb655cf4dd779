"""A run on one page: what was found (`findings`), figures and pictures of it, and the HTML file (`page`).

Each figure of the page is a panel (`panels`), a function that a plug-in can add to.
"""
