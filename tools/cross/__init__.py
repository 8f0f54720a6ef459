"""The cross-check of TCP: the same settings in Cellway, in ns-2 and, for CUBIC, with the TCP of the kernel."""
