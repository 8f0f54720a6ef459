//! What people look at: status and metrics.
