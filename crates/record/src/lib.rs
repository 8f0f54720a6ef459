//! Observations to tidy tables: Arrow, Parquet, the run manifest and the statistics of replicated runs.
