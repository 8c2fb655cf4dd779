"""The papers' tables and figures: one file a study."""
