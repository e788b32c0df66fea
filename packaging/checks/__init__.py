"""What packaging/test tries, one kind of place a file."""
