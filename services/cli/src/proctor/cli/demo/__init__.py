"""The demonstration: its run, what is expected of it, and the folder it lives in."""
