"""The Python interface: `train`, `load` and `evaluate`, the Run they work on, and a scikit-learn transformer.

`import hatchel` offers them all, and the families to extend (Term, Metric, Method, ...) by one flat list of names.
"""
