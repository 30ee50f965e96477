"""What a run leaves to download: tables, log and files, frozen at a place of the log, and how their bytes are sent."""
