"""Methods: one file per paper, a small Spec whose fields are its parameters; `resolve` makes a run of one."""
