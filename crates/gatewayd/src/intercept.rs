//! Interception of connections that pass through this machine, and connections to servers in the name of clients.
//!
//! The SYN of a client waits on a TUN device ([`Hold`]) until the server has answered at the far side. Then it is
//! written back and delivered to a transparent socket ([`Listeners`]), or the client receives an answer as from the
//! server or its network. [`connect`] is the far side: a connection from the client's address. [`Rules`] are the rules
//! of the kernel for this, and [`Follower`] keeps the kernel in step with them.

pub(crate) mod answer;
mod follower;
mod fragments;
mod hold;
mod listeners;
mod obstacles;
mod onward;
pub(crate) mod packet;
mod rules;
mod tool;
mod watch;

#[cfg(test)]
mod testbed;
#[cfg(test)]
mod tests;

pub(crate) use follower::{Follower, RulesReport};
pub(crate) use hold::{Hold, Syn};
pub(crate) use listeners::Listeners;
pub(crate) use obstacles::{absent, hindrances, obstacles};
pub(crate) use onward::{connect, prepare, reason};
pub(crate) use rules::Rules;
pub(crate) use watch::Watch;
