"""Terms: quantities of a trace, in nats."""
