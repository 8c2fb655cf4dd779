"""Studies: cells of a grid, computed once each by any engine, and what is said about them."""
