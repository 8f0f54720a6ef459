pub(crate) const EQUATIONS: &[u8] = &[];
