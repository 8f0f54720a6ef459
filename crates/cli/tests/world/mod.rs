//! A machine and a world that it reaches, as two network namespaces, and the programs in them.

mod programs;

use std::process::{Child, Command, Stdio};

pub(crate) use programs::{played, told, words};

/// Two namespaces that exist as long as this value.
pub(crate) struct Machine {
    machine: Child,
    world: Child,
    /// Servers.
    programs: Vec<Child>,
}

impl Machine {
    /// Makes it; the test `vehicle` of this program plays the servers.
    ///
    /// # Errors
    /// The reason for which it cannot be made here.
    pub(crate) fn new(vehicle: &str) -> Result<Machine, String> {
        for program in ["nft", "nsenter", "unshare", "ping"] {
            if !sh(&format!("command -v {program} > /dev/null")).status().is_ok_and(|status| status.success()) {
                return Err(format!("the program `{program}` is missing"));
            }
        }
        let mut this = Machine { machine: namespace()?, world: namespace()?, programs: Vec::new() };
        let (machine, world) = (this.machine.id(), this.world.id());
        this.run(
            "mount --make-rprivate / && mount -t tmpfs none /run && echo nameserver 203.0.113.53 > /run/resolv.conf && \
             touch /etc/resolv.conf && mount --bind /run/resolv.conf $(readlink -f /etc/resolv.conf)",
        );
        // Without duplicate address detection the addresses of IPv6 hold at once.
        for run in [Machine::run, Machine::world] {
            run(
                &this,
                "for k in all default; do echo 0 > /proc/sys/net/ipv6/conf/$k/accept_dad; done; ip link set lo up",
            );
        }
        sh(&format!(
            "ip link add name eth0 netns /proc/{machine}/ns/net type veth peer name eth0 netns /proc/{world}/ns/net"
        ))
        .status()
        .map_err(|e| e.to_string())?;
        this.run(
            "ip addr add 192.0.2.2/24 dev eth0 && ip addr add 2001:db8::2/64 dev eth0 nodad && ip link set eth0 up && \
             ip route add default via 192.0.2.1 && ip -6 route add default via 2001:db8::1",
        );
        this.world(
            "ip addr add 192.0.2.1/24 dev eth0 && ip addr add 2001:db8::1/64 dev eth0 nodad && ip link set eth0 up && \
             for a in 203.0.113.80 203.0.113.53 2001:db8:80::1; do ip addr add $a dev lo; done",
        );
        let [world, dns, stub] = ["serve", "dns 203.0.113.53", "dns 127.0.0.53"].map(|part| words(vehicle, part));
        for (of, words) in [(&this.world, world), (&this.world, dns), (&this.machine, stub)] {
            let mut command = inside(of, &words[0]);
            let mut server = command.args(&words[1..]).stdout(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
            let mut lines = std::io::BufRead::lines(std::io::BufReader::new(server.stdout.as_mut().unwrap()));
            assert!(lines.any(|line| line.unwrap().starts_with("told: ")), "a server has ended");
            this.programs.push(server);
        }
        Ok(this)
    }

    /// Returns a program on the machine.
    pub(crate) fn command(&self, program: &str) -> Command {
        inside(&self.machine, program)
    }

    /// Runs a script on the machine.
    pub(crate) fn run(&self, script: &str) {
        succeeds(self.command("sh").args(["-ec", script]), script);
    }

    /// Returns the output of a script on the machine.
    pub(crate) fn output(&self, script: &str) -> String {
        succeeds(self.command("sh").args(["-ec", script]), script)
    }

    /// Runs a script in the world.
    pub(crate) fn world(&self, script: &str) {
        succeeds(inside(&self.world, "sh").args(["-ec", script]), script);
    }

    pub(crate) fn set_resolver(&self, address: &str) {
        self.run(&format!("echo nameserver {address} > /run/resolv.conf"));
    }

    /// Returns true if the machine can forward IPv6 for one device.
    pub(crate) fn forwards_ipv6(&self) -> bool {
        self.output("ls /proc/sys/net/ipv6/conf/eth0").contains("force_forwarding")
    }

    /// Returns all that a path may change: rules, devices, addresses, routes and settings of the network, and mounts.
    pub(crate) fn state(&self) -> String {
        // Counters of other tables, and neighbours, are not part of it.
        self.output(
            "nft -s list ruleset; ip -o link show | cut -d '\\' -f 1; ip -o addr show | sed 's/\\\\.*//'; \
             ip rule; ip -6 rule; ip route show table all; ip -6 route show table all; \
             grep -r . /proc/sys/net/ipv4 /proc/sys/net/ipv6 2> /dev/null | grep -v 'stable_secret\\|/cw' | sort; \
             cat /proc/self/mountinfo | cut -d ' ' -f 5- ; cat /etc/resolv.conf",
        )
    }

    /// Returns the numbers of the children of a process that have a name.
    pub(crate) fn children(of: u32, name: &str) -> Vec<String> {
        let said = Command::new("ps").args(["-o", "pid=,comm=", "--ppid", &of.to_string()]).output().unwrap();
        let lines = String::from_utf8(said.stdout).unwrap();
        let named =
            lines.lines().filter_map(|line| line.trim().split_once(' ')).filter(|(_, found)| found.trim() == name);
        named.map(|(pid, _)| pid.to_owned()).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        for child in self.programs.iter_mut().chain([&mut self.machine, &mut self.world]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts a process that holds a network and a mount namespace.
fn namespace() -> Result<Child, String> {
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "sh", "-c", "echo ready; exec sleep 100000"]).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("`unshare` cannot be run: {e}"))?;
    let mut line = String::new();
    let read = std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line);
    if read.is_ok() && line == "ready\n" {
        return Ok(child);
    }
    let _ = child.wait();
    Err("no namespaces can be made: this test needs root".to_owned())
}

/// Returns a program in the namespaces of a process, which it joins without a further process.
fn inside(of: &Child, program: &str) -> Command {
    let mut command = Command::new("nsenter");
    command.args(["--net", "--mount", "--target", &of.id().to_string(), "--", program]);
    command
}

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

fn succeeds(command: &mut Command, what: &str) -> String {
    let ran = command.output().unwrap();
    let [out, err] = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(ran.status.success(), "{what}: {err}");
    out
}
