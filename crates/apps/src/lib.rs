//! Who talks: tcplib conversations and other applications, as state machines without I/O.
