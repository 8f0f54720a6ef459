//! TUN devices with offloads (Linux `Documentation/networking/tuntap.rst`, virtio 1.2 section 5.1.6).

use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::str::FromStr;
use std::{fmt, fmt::Write as _};

use super::{Namespace, SysError, raw};

/// Least MTU of IPv6, in bytes (RFC 8200, section 5).
const IPV6_MTU: u32 = 1280;

/// An address and the length of its network's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Prefix {
    /// The address.
    pub address: IpAddr,
    /// Bits of the network, at most 32 or 128.
    pub length: u8,
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl FromStr for Prefix {
    type Err = SysError;

    fn from_str(text: &str) -> Result<Self, SysError> {
        let parse = || {
            let (address, length) = text.split_once('/')?;
            let (address, length) = (address.parse::<IpAddr>().ok()?, length.parse::<u8>().ok()?);
            (length <= if address.is_ipv4() { 32 } else { 128 }).then_some(Self { address, length })
        };
        parse().ok_or_else(|| SysError::Prefix(text.into()))
    }
}

/// The configuration of a device.
#[derive(Debug, Clone)]
pub struct TunConfig {
    name: String,
    mtu: u32,
    queue: u32,
    addresses: Vec<Prefix>,
    routes: Vec<(Prefix, Option<IpAddr>)>,
    offload: bool,
}

impl TunConfig {
    /// The default of the transmit queue, in packets. The kernel's own default, 500, drops bursts of one large window.
    pub const QUEUE: u32 = 1000;

    /// Creates the configuration of a device without addresses. `mtu` is in bytes.
    #[must_use]
    pub fn new(name: &str, mtu: u32) -> Self {
        let (name, addresses, routes) = (name.into(), Vec::new(), Vec::new());
        Self { name, mtu, queue: Self::QUEUE, addresses, routes, offload: true }
    }

    /// Adds an address, whose network is reached through the device.
    #[must_use]
    pub fn address(mut self, address: Prefix) -> Self {
        self.addresses.push(address);
        self
    }

    /// Adds a route to `network` through the device, via `gateway` or directly.
    #[must_use]
    pub fn route(mut self, network: Prefix, gateway: Option<IpAddr>) -> Self {
        self.routes.push((network, gateway));
        self
    }

    /// Sets the length of the transmit queue, in packets; [`QUEUE`](Self::QUEUE) if not set.
    #[must_use]
    pub fn queue_length(mut self, packets: u32) -> Self {
        self.queue = packets;
        self
    }

    /// Sets whether the kernel may leave checksums and segmentation to the reader. It may by default; otherwise each
    /// packet is complete, with at most the MTU.
    #[must_use]
    pub fn offload(mut self, offload: bool) -> Self {
        self.offload = offload;
        self
    }

    fn check(&self) -> Result<(), SysError> {
        let good = |c: char| c.is_ascii_graphic() && !matches!(c, '/' | ':' | '%');
        if !(1..libc::IFNAMSIZ).contains(&self.name.len()) || !self.name.chars().all(good) || self.name.starts_with('.')
        {
            return Err(SysError::DeviceName(self.name.clone()));
        }
        let ipv6 = self.addresses.iter().chain(self.routes.iter().map(|(network, _)| network));
        if self.mtu < IPV6_MTU && ipv6.into_iter().any(|prefix| prefix.address.is_ipv6()) {
            return Err(SysError::SmallMtu { device: self.name.clone(), mtu: self.mtu });
        }
        Ok(())
    }

    /// Returns the lines for `ip -batch`.
    fn lines(&self) -> String {
        let name = &self.name;
        let mut lines = format!("link set dev {name} mtu {} txqueuelen {} up\n", self.mtu, self.queue);
        for prefix in &self.addresses {
            let nodad = if prefix.address.is_ipv6() { " nodad" } else { "" };
            // Writing to a String cannot fail.
            let _ = writeln!(lines, "addr add {prefix} dev {name}{nodad}");
        }
        for (network, gateway) in &self.routes {
            let via = gateway.map(|gateway| format!(" via {gateway}")).unwrap_or_default();
            // The family is that of the network: a batch has no option `-6`.
            let _ = writeln!(lines, "route add {network}{via} dev {name}");
        }
        lines
    }
}

/// A network device whose packets this process reads and writes. Dropping it removes the device (a moment later if
/// another thread is just starting a program: the exec closes its copy of the descriptor).
///
/// Each packet follows a `struct virtio_net_hdr` of [`Tun::HEADER`] octets, in both directions.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
    mtu: u32,
    udp: bool,
}

impl Tun {
    /// Octets of `struct virtio_net_hdr`.
    pub const HEADER: usize = 10;
    /// Octets of the largest packet with its header.
    pub const LARGEST: usize = Self::HEADER + 65_535;

    /// Makes a device in `namespace`, with its addresses and routes, up.
    ///
    /// # Errors
    /// A bad name, no permission, or a line that `ip` refuses.
    pub fn open(namespace: &Namespace, config: &TunConfig) -> Result<Self, SysError> {
        config.check()?;
        let (name, offload) = (config.name.clone(), config.offload);
        // The device appears in the namespace in which the file was opened.
        let (file, udp) = namespace.run(move || attach(&name, offload)).map_err(|(step, source)| SysError::Tun {
            device: config.name.clone(),
            step,
            source,
        })?;
        let this = Self { file, name: config.name.clone(), mtu: config.mtu, udp };
        namespace.configure(&config.lines())?;
        Ok(this)
    }

    /// Continues a device of [`Tun::into_fd`] with the same name and MTU, without offloads.
    #[must_use]
    pub fn from_fd(fd: OwnedFd, name: &str, mtu: u32) -> Self {
        Self { file: File::from(fd), name: name.into(), mtu, udp: false }
    }

    /// Returns its descriptor: the device exists as long as that is open.
    #[must_use]
    pub fn into_fd(self) -> OwnedFd {
        self.file.into()
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its initial MTU, in bytes.
    #[must_use]
    pub fn mtu(&self) -> u32 {
        self.mtu
    }

    /// Returns true if large UDP sends also arrive unsegmented (`VIRTIO_NET_HDR_GSO_UDP_L4`, Linux 6.2).
    #[must_use]
    pub fn takes_udp_segments(&self) -> bool {
        self.udp
    }

    /// Reads one packet with its header; `None` if there is none now. `buffer` should have [`Tun::LARGEST`] octets:
    /// longer packets are truncated.
    ///
    /// # Errors
    /// The device no longer exists.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        none_if_blocked((&self.file).read(buffer))
    }

    /// Writes one packet with its header; `None` if the device accepts none now.
    ///
    /// # Errors
    /// `InvalidInput` for a header or packet that the kernel refuses, else the device no longer exists or is down.
    pub fn write(&self, packet: &[u8]) -> io::Result<Option<usize>> {
        none_if_blocked((&self.file).write(packet))
    }

    /// Writes one packet in parts, like [`Tun::write`].
    ///
    /// # Errors
    /// As [`Tun::write`].
    pub fn write_vectored(&self, parts: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
        none_if_blocked((&self.file).write_vectored(parts))
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn none_if_blocked(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(octets) => Ok(Some(octets)),
        Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
        Err(e) => Err(e),
    }
}

fn attach(name: &str, offload: bool) -> Result<(File, bool), (&'static str, io::Error)> {
    let file = File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")
        .map_err(|e| ("open /dev/net/tun", e))?;
    raw::tun_attach(file.as_fd(), name).map_err(|e| ("make the device", e))?;
    raw::tun_header(file.as_fd(), 10).map_err(|e| ("set the length of its header", e))?;
    if !offload {
        raw::tun_offload(file.as_fd(), 0).map_err(|e| ("set its offloads", e))?;
        return Ok((file, false));
    }
    let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
    let udp = raw::tun_offload(file.as_fd(), tcp | libc::TUN_F_USO4 | libc::TUN_F_USO6).is_ok();
    if !udp {
        raw::tun_offload(file.as_fd(), tcp).map_err(|e| ("set its offloads", e))?;
    }
    Ok((file, udp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_checked() {
        for text in ["10.0.0.1/24", "fd00::1/64", "0.0.0.0/0", "::/0", "1.2.3.4/32"] {
            assert_eq!(text.parse::<Prefix>().unwrap().to_string(), text);
        }
        for text in ["10.0.0.1", "10.0.0.1/33", "fd00::1/129", "/8", "10.0.0/8", "10.0.0.1/-1", "a/8"] {
            assert!(matches!(text.parse::<Prefix>(), Err(SysError::Prefix(t)) if t == text));
        }
    }

    #[test]
    fn the_lines_for_ip_are_those_of_the_configuration() {
        let config = TunConfig::new("cell0", 9180)
            .address("10.0.0.1/24".parse().unwrap())
            .address("fd00::1/64".parse().unwrap())
            .route("0.0.0.0/0".parse().unwrap(), Some("10.0.0.2".parse().unwrap()))
            .route("::/0".parse().unwrap(), None);
        assert_eq!(
            config.lines(),
            "link set dev cell0 mtu 9180 txqueuelen 1000 up\naddr add 10.0.0.1/24 dev cell0\n\
             addr add fd00::1/64 dev cell0 nodad\nroute add 0.0.0.0/0 via 10.0.0.2 dev cell0\n\
             route add ::/0 dev cell0\n"
        );
    }

    #[test]
    fn impossible_devices_are_refused() {
        for name in ["", "a b", "a/b", "sixteen-letters-", "x\n", ".."] {
            assert!(matches!(TunConfig::new(name, 1500).check(), Err(SysError::DeviceName(n)) if n == name));
        }
        let small = TunConfig::new("t", 576).address("fd00::1/64".parse().unwrap());
        assert!(matches!(small.check(), Err(SysError::SmallMtu { mtu: 576, .. })));
        assert!(TunConfig::new("t", 576).address("10.0.0.1/8".parse().unwrap()).check().is_ok());
    }
}
