"""What the terminal shows: pure functions from the API's documents to text and tables, and live views."""
