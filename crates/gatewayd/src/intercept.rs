//! Taking connections that pass through this machine, and connecting onwards in their names.
//!
//! The first segment of a client's connection waits in a TUN device ([`Hold`]) until the server has answered
//! at the far side. Then it is written back and delivered to a transparent socket ([`Listeners`]), or an
//! answer as from the server or its network is sent instead. [`connect`] is the far side of it: a connection
//! from the client's address. What the kernel must do for this is said by [`Rules`],
//! and told to it by [`Follower`].

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

pub(crate) use follower::{Follower, News};
pub(crate) use hold::{Hold, Opening};
pub(crate) use listeners::Listeners;
pub(crate) use obstacles::{absent, hindrances, obstacles};
pub(crate) use onward::{connect, prepare, reason};
pub(crate) use rules::Rules;
pub(crate) use watch::Watch;
