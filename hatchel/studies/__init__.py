"""The five papers' tables and figures as studies, one file for each paper (two where it has many)."""
