"""What services say to one another: events, states, subjects, messages and the run configuration."""
