//! Taking connections that pass through this machine, and connecting onwards in their names.
