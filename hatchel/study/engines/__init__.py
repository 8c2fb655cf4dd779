"""Where tasks are computed: one engine a file, all behind `concurrent.futures.Executor`."""
