"""The default engine beside the earlier one with a calendar, and both beside their targets: one table."""
