//! Available bit rate: sources follow the rate that the network allows them. ATM Forum TM 4.0 section 5.10; ITU-T I.371
//! section 6.7.
//!
//! A [source](AbrSource) puts a forward [RM cell](RmCell) before its data and every Nrm cells. The
//! [destination](AbrDestination) turns it around, and on the path back each switch can write into it the rate that the
//! source may send at: [EFCI](EfciMarker) marks data cells in the forward direction, [ERICA](Erica) computes an
//! explicit rate. None of the four depends on ports or on the others; their driver passes the time and the cells.

mod destination;
mod efci;
mod erica;
mod parameters;
mod rm;
mod source;

pub use destination::AbrDestination;
pub use efci::EfciMarker;
pub use erica::{Erica, EricaSpec};
pub use parameters::{AbrParameters, TAGGED_CELL_RATE};
pub use rm::{RmCell, RmDirection};
pub use source::{AbrSource, InRateCell, Waiting};
