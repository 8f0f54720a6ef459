//! SYNs on the TUN device, their answers, and the listeners to which the kernel delivers answered connections.

mod bypassed;
mod proof;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use cellway_gateway::Reason;
use cellway_sys::Parcel;
use serde::{Deserialize, Serialize};
use socket2::Socket;

use super::context::Context;
use super::outbox::Event;
use crate::config::Intercept;
use crate::error::Error;
use crate::intercept::{Hold, Listeners, Syn};

use bypassed::Bypassed;
use proof::{Change, Proof};

/// Most SYNs or connections that are read before other events are processed.
pub(crate) const AT_ONCE: usize = 256;

/// Interception; without `[intercept]` there are no SYNs.
#[derive(Debug, Default)]
pub(crate) struct Interception {
    hold: Option<Hold>,
    listeners: Option<Listeners>,
    bypassed: Bypassed,
    proof: Proof,
}

/// Interception in the record of a handover: the indices of device and listeners, and the SYNs that bypassed the
/// gateways.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InterceptionRecord {
    device: u32,
    listeners: Vec<u32>,
    bypassed: Bypassed,
}

impl Interception {
    /// Moves device and listeners into `parcel`; none without interception.
    pub(crate) fn hand_over(&mut self, parcel: &mut Parcel) -> Option<InterceptionRecord> {
        let Interception { hold, listeners, bypassed, .. } = std::mem::take(self);
        Some(InterceptionRecord {
            device: parcel.add(hold?.into_fd()),
            listeners: listeners?.into_fds().map(|fd| parcel.add(fd)).collect(),
            bypassed,
        })
    }
    /// Continues the interception of a record.
    ///
    /// # Errors
    /// A descriptor is missing in `parcel`, or the kernel refuses a socket.
    pub(crate) fn resume(
        intercept: &Intercept,
        record: InterceptionRecord,
        parcel: &mut Parcel,
    ) -> Result<Interception, Error> {
        let what = "take over the interception";
        let missing = |source| Error::Io { what: what.into(), source };
        let hold = Hold::resume(intercept, parcel.take(record.device).map_err(missing)?)?;
        let listeners = record.listeners.into_iter().map(|place| parcel.take(place)).collect::<io::Result<Vec<_>>>();
        let listeners = Listeners::resume(listeners.map_err(missing)?);
        Ok(Interception {
            hold: Some(hold),
            listeners: Some(listeners),
            bypassed: record.bypassed,
            proof: Proof::default(),
        })
    }
    /// Opens the device and the listeners.
    ///
    /// # Errors
    /// The kernel refuses the device or a socket.
    pub(crate) fn open(intercept: Option<&Intercept>) -> Result<Interception, Error> {
        let Some(intercept) = intercept else { return Ok(Interception::default()) };
        let (hold, listeners) = (Hold::open(intercept)?, Listeners::open(intercept)?);
        Ok(Interception { hold: Some(hold), listeners: Some(listeners), ..Interception::default() })
    }
    /// Returns the descriptor of the device, readable when SYNs wait.
    pub(crate) fn device(&self) -> Option<BorrowedFd<'_>> {
        self.hold.as_ref().map(AsFd::as_fd)
    }
    /// Returns the descriptors of the listeners.
    pub(crate) fn listeners(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.listeners.iter().flat_map(Listeners::fds)
    }

    /// Returns the next SYN that waits, if there is one.
    ///
    /// # Errors
    /// The device was deleted: nothing can be intercepted.
    pub(crate) fn next(&mut self) -> io::Result<Option<Syn>> {
        self.hold.as_mut().map_or(Ok(None), Hold::next)
    }
    /// Returns the next connection that the kernel has accepted with its client and server, if there is one.
    pub(crate) fn accept(&self, cx: &mut Context) -> Option<(Socket, SocketAddr, SocketAddr)> {
        self.listeners.as_ref()?.accept().unwrap_or_else(|e| {
            tracing::warn!("a connection cannot be accepted: {e}");
            cx.tally.error("accept");
            cx.push(Event::NoDescriptors);
            None
        })
    }

    /// Returns true if the SYN was forwarded past the gateways before: its server may have answered.
    pub(crate) fn is_bypassed(&mut self, syn: &Syn, cx: &Context) -> bool {
        self.bypassed.contains(syn.key(), cx.now)
    }
    /// Forwards a SYN to its server past the gateways.
    pub(crate) fn bypass(&mut self, syn: &Syn, cx: &mut Context) {
        cx.tally.passed += 1;
        self.bypassed.add(syn.key(), cx.now);
        if let Some(hold) = &self.hold
            && let Err(error) = hold.pass(syn)
        {
            // The client retransmits it.
            tracing::debug!("a SYN cannot be forwarded: {error}");
        }
    }
    /// Lets the kernel answer a SYN.
    pub(crate) fn release(&mut self, syn: &Syn, cx: &mut Context) {
        if let Some(hold) = &mut self.hold
            && let Err(e) = hold.release(syn)
        {
            tracing::warn!("a SYN cannot be written to the device: {e}");
            cx.tally.error("device");
        }
    }
    /// Answers a SYN as the server or its network would.
    pub(crate) fn refuse(&mut self, syn: &Syn, reason: Reason) {
        if let Some(hold) = &mut self.hold {
            // After an error the client retransmits it.
            let _ = hold.refuse(syn, reason);
        }
    }

    /// Returns true if the client of the next SYN must prove its address before its server is connected to. The clients
    /// of `unproven` connections have not.
    pub(crate) fn must_prove(&mut self, unproven: u32, cx: &Context) -> bool {
        let most = cx.config.limits.unproven;
        match self.proof.decide(cx.now, unproven, most) {
            Some(Change::Begins) => tracing::warn!(
                unproven = most,
                "limits.unproven SYNs wait whose clients have not proved their addresses, as in a SYN flood; this machine \
                 answers more clients before their servers do, until they acknowledge again"
            ),
            Some(Change::Ends) => tracing::info!("clients acknowledge again: their servers answer first"),
            None => {}
        }
        self.proof.is_required()
    }
    /// Lets the kernel answer a SYN without state here: its client connects to the listeners, or never.
    pub(crate) fn answer_first(&mut self, syn: &Syn, cx: &mut Context) {
        self.proof.count_answered();
        cx.tally.answered_first += 1;
        self.release(syn, cx);
    }
    /// Counts a client that has acknowledged a stateless answer.
    pub(crate) fn count_proved(&mut self) {
        self.proof.count_proved();
    }
}
