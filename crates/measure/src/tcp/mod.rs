//! What the kernel's TCP lets itself be told, and what it tells: socket options and `TCP_INFO`.

mod info;
mod options;
mod window;

pub use info::TcpInfo;
pub use options::{MSS, TcpOptions, congestion_controls};
pub use window::{WINDOW_MAX, WINDOW_MIN};
