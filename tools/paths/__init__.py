"""Paths from captures of real transfers over emulated paths, beside the paths that were emulated."""
