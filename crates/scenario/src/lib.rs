//! Scenario files: TOML text with units, checked completely, with sweeps and replications.
