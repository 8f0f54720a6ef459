//! Ports that are open, as listed in `/proc/net` (`proc_pid_net(5)`).

use std::fs;

/// `TCP_LISTEN` in the column `st`.
const LISTEN: &str = "0A";

/// Returns true if a TCP socket in the network namespace of this thread listens on `port`, or a UDP socket is bound
/// to it.
pub(super) fn is_listening(port: u16) -> bool {
    // /proc/net is that of the first thread of the process, which may be in another namespace.
    let table = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
    ["tcp", "tcp6"].iter().any(|name| has(&table(name), port, Some(LISTEN)))
        || ["udp", "udp6"].iter().any(|name| has(&table(name), port, None))
}

/// Returns true if a row of the table has this local port and, if given, this state.
fn has(table: &str, port: u16, state: Option<&str>) -> bool {
    table.lines().skip(1).any(|row| {
        let mut fields = row.split_ascii_whitespace().skip(1);
        let local = fields.next().and_then(|local| u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok());
        local == Some(port) && state.is_none_or(|state| fields.nth(1) == Some(state))
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    #[test]
    fn sockets_that_listen_are_seen_and_others_are_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(is_listening(port));
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let other = stream.local_addr().unwrap().port();
        assert!(!has(&fs::read_to_string("/proc/thread-self/net/tcp").unwrap(), other, Some(LISTEN)));
        drop((listener, stream));
        let bound = UdpSocket::bind("[::1]:0").or_else(|_| UdpSocket::bind("127.0.0.1:0")).unwrap();
        assert!(is_listening(bound.local_addr().unwrap().port()));
    }

    #[test]
    fn a_table_is_read_by_its_columns() {
        let table = "  sl  local_address rem_address   st tx_queue\n   \
                     0: 0100007F:1451 00000000:0000 0A 00000000:00000000\n   \
                     1: 0100007F:1452 0100007F:1451 01 00000000:00000000\n";
        assert!(has(table, 5201, Some(LISTEN)) && !has(table, 5202, Some(LISTEN)) && has(table, 5202, None));
        assert!(!has(table, 0x1450, None) && !has("", 1, None));
    }
}
