//! Kinds of subjects.

/// The kind of the subject of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// An output port, `r1>s1`.
    Port,
    /// A conversation slot, `ftp-3`.
    Slot,
    /// A traffic group, `ftp`.
    Group,
    /// A set of slots, by its name in `observe.set`.
    Set,
    /// The whole network, `network`.
    Network,
    /// A gateway, `g1`.
    Gateway,
    /// A class of connections at a gateway, `g1/a`.
    Class,
    /// A program of `[[run.command]]`, by its name.
    Command,
    /// The emulator itself, `emulation`.
    Emulation,
    /// A TCP connection between two hosts, `stream-1`.
    Stream,
    /// All streams of a transfer, `total`.
    Transfer,
}

impl Subject {
    /// All kinds, in the order of the reference page.
    pub const ALL: [Subject; 11] = [
        Subject::Port,
        Subject::Slot,
        Subject::Group,
        Subject::Set,
        Subject::Network,
        Subject::Gateway,
        Subject::Class,
        Subject::Command,
        Subject::Emulation,
        Subject::Stream,
        Subject::Transfer,
    ];

    /// Returns the name of the kind.
    pub const fn word(self) -> &'static str {
        match self {
            Subject::Port => "port",
            Subject::Slot => "slot",
            Subject::Group => "group",
            Subject::Set => "set",
            Subject::Network => "network",
            Subject::Gateway => "gateway",
            Subject::Class => "class",
            Subject::Command => "command",
            Subject::Emulation => "emulation",
            Subject::Stream => "stream",
            Subject::Transfer => "transfer",
        }
    }
}
