//! Requests to stop a simulation: by a signal, or by the caller of the command line.

#[cfg(target_os = "linux")]
use cellway_lab::StopSignals;

/// Catches Ctrl-C, SIGTERM and SIGHUP until dropped, on Linux, so that finished runs can be kept. Elsewhere the caller of
/// the command line catches them, or the process ends.
pub(crate) struct Interruption<'a> {
    #[cfg(target_os = "linux")]
    caught: Option<StopSignals>,
    /// Polls the caller.
    poll: &'a mut dyn FnMut() -> bool,
    requested: bool,
}

impl<'a> Interruption<'a> {
    pub(crate) fn catch(poll: &'a mut dyn FnMut() -> bool) -> Interruption<'a> {
        // They are caught already if another run of this process does so, which then stops instead.
        Interruption {
            #[cfg(target_os = "linux")]
            caught: StopSignals::catch().ok(),
            poll,
            requested: false,
        }
    }

    /// Returns true once a stop has been requested, and from then on.
    pub(crate) fn requested(&mut self) -> bool {
        #[cfg(target_os = "linux")]
        if self.caught.as_ref().is_some_and(|signals| signals.take().is_some()) {
            self.requested = true;
        }
        self.requested = self.requested || (self.poll)();
        self.requested
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The caller returns true once for each Ctrl-C.
    #[test]
    fn a_request_of_the_caller_is_kept() {
        let mut polls = [false, true, false].into_iter();
        let mut poll = || polls.next().unwrap_or_default();
        let mut interruption = Interruption::catch(&mut poll);
        assert_eq!([(); 4].map(|()| interruption.requested()), [false, true, true, true]);
    }
}
