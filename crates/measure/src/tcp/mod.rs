//! The kernel's TCP: socket options and `TCP_INFO`.

mod info;
mod options;
mod window;

pub use info::TcpInfo;
pub use options::{MSS, TcpOptions, congestion_controls};
pub use window::{WINDOW_MAX, WINDOW_MIN};
