//! Signals that stop a simulation, also where no interpreter takes them.

#[cfg(target_os = "linux")]
use cellway_lab::StopSignals;

/// Catches Ctrl-C, SIGTERM and SIGHUP until dropped, so that finished runs can be kept; on Linux. Elsewhere the caller of
/// the command line catches them, or the process ends.
pub(crate) struct Signals {
    #[cfg(target_os = "linux")]
    caught: Option<StopSignals>,
}

impl Signals {
    pub(crate) fn catch() -> Signals {
        // They are caught already if another run of this process does so, which then stops instead.
        Signals {
            #[cfg(target_os = "linux")]
            caught: StopSignals::catch().ok(),
        }
    }

    /// Returns true if one has arrived since the last call.
    pub(crate) fn came(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.caught.as_ref().is_some_and(|signals| signals.take().is_some());
        #[cfg(not(target_os = "linux"))]
        return false;
    }
}
