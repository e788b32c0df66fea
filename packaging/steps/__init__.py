"""The steps of packaging/build, one kind of package a file."""
