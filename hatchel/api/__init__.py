"""The Python interface: what `import hatchel` offers."""
