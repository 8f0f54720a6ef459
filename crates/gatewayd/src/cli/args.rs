//! The arguments and their help texts.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};

use crate::status::states::{self, explained};

/// A transparent TCP gateway: two of them at the ends of a long, fat or lossy path relay the TCP connections of the
/// hosts behind them at the rate of the path. Hosts see the addresses, FINs and resets of a direct connection.
#[derive(Debug, Parser)]
#[command(
    name = "cellway-gateway",
    version,
    after_help = "\
A first try on one machine: connections to port 8080 reach port 80, through two gateways.

  here.toml:
    name = \"here\"
    [[peer]]
    name = \"there\"
    address = \"127.0.0.1:4433\"
    [[forward]]
    listen = \"127.0.0.1:8080\"
    to = \"127.0.0.1:80\"
  there.toml:
    name = \"there\"
    local = [\"127.0.0.0/8\"]
    [listen]
    address = \"127.0.0.1:4433\"
    [[peer]]
    name = \"here\"

  cellway-gateway keygen --out . here there
  cellway-gateway run --config there.toml &
  cellway-gateway run --config here.toml

Every command has examples: cellway-gateway COMMAND --help"
)]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) command: Command,
}

/// Returns the help of `status`: examples, and the meaning of the states.
pub(super) fn status_help() -> String {
    format!(
        "\
Examples:
  cellway-gateway status
  cellway-gateway status --connections
  cellway-gateway status --config here.toml --watch
  cellway-gateway status --json | jq '.peers[] | {{name, up, rtt}}'

States of a peer:
{}
States of a connection:
{}",
        explained(states::PEER),
        explained(states::CONNECTION)
    )
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run a gateway until it is stopped.
    #[command(after_help = "\
Examples:
  cellway-gateway run --config /etc/cellway-gateway/gateway.toml
  cellway-gateway run --config here.toml --log debug
  cellway-gateway run --config here.toml --log info,cellway_gatewayd::peering=trace
  cellway-gateway run --config here.toml --json-log 2>> gateway.log

Signals:
  SIGHUP            reads the file and the keys again; connections stay. A file with problems changes nothing.
  SIGTERM, SIGINT   ends: lets connections end for as long as control.drain says, resets the rest and notifies the
                    peers. Another signal while it drains resets them; one more ends it at once.

Interception needs CAP_NET_ADMIN and CAP_NET_RAW; forwards and SOCKS need no privileges.")]
    Run(Box<Run>),
    /// Check a configuration, the keys it names and this machine, without running anything.
    #[command(after_help = "\
Examples:
  cellway-gateway check --config /etc/cellway-gateway/gateway.toml
  cellway-gateway check --config tokyo.toml --file-only       a file for another machine
  cellway-gateway check --config here.toml --json | jq '.problems[]'

All problems are reported at once, with line and column; certificates that have expired, are not valid yet, have
another name or come from another authority are also problems. Missing requirements of this machine begin with
\"here:\". Exit code: 0 valid; 1 the file and the keys are valid, and this machine lacks something; 2 invalid.")]
    Check(Check),
    /// Make an authority and a certificate for each gateway.
    #[command(after_help = "\
Examples:
  cellway-gateway keygen --out keys paris tokyo      keys/authority.pem, paris.pem, paris.key, tokyo.pem, ...
  cellway-gateway keygen --authority keys --out keys lima     one more gateway, later
  cellway-gateway keygen --authority keys --out new --days 90 paris     new keys for one

Each gateway gets authority.pem and its own .pem and .key in the folder of its configuration. Keep authority.key
away from the gateways: anybody who has it can make another gateway. No file is ever overwritten.")]
    Keygen(Keygen),
    /// Print, set or remove the rules of the kernel for interception: nftables and routing.
    #[command(after_help = "\
Examples:
  cellway-gateway rules print --config gateway.toml       read them first, or keep them in your own scripts
  cellway-gateway rules apply --config gateway.toml       set them; existing ones stay
  cellway-gateway rules remove --config gateway.toml      remove exactly these

They are in their own table of nftables, routing rules and two routing tables; nothing else is changed.
Without a running gateway connections pass as without rules, except for peers with down = \"refuse\".")]
    Rules {
        #[command(subcommand)]
        command: RulesCommand,
    },
    /// Show peers, rates and connections of the gateway that runs here.
    #[command(after_help = status_help())]
    Status(Status),
    /// Accept no new connections, let the others end, then end the gateway that runs here.
    #[command(after_help = "\
Examples:
  cellway-gateway drain
  cellway-gateway drain --within \"5 min\"      remaining connections are reset
  cellway-gateway drain --config here.toml --no-wait

It prints the number of connections left, whenever that changes, until the gateway has ended. If it is interrupted
the gateway still drains. New connections bypass the gateways or are refused meanwhile, as `down` in the file
selects; those of a peer are refused, upon which its own `down` applies. For root and the gateway's own user.")]
    Drain(Drain),
    /// Replace the gateway that runs here by the program that is installed now; connections continue.
    #[command(after_help = "\
Examples:
  cellway-gateway upgrade
  cellway-gateway upgrade --config here.toml

The gateway executes the program at the path from which it was started, in the same process: sockets, devices and buffered
bytes are handed over, and hosts only see a pause. The peer keeps its connections as well, for up to `outage`;
it must have the same version of the protocol. If the new program cannot take over, or the configuration needs a restart,
nothing changes. For root and the gateway's own user.")]
    Upgrade(Upgrade),
    /// Print the versions of the state that this program takes over, and of the protocol between gateways.
    #[command(name = crate::control::VERSIONS_COMMAND, hide = true)]
    HandoverVersion,
    /// Print the JSON schema of configuration files, for editors.
    Schema,
    /// Print the script that completes commands and options in a shell.
    #[command(after_help = "\
Examples:
  source <(cellway-gateway completions bash)
  cellway-gateway completions zsh > ~/.zfunc/_cellway-gateway
  cellway-gateway completions fish > ~/.config/fish/completions/cellway-gateway.fish")]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a folder.
    #[command(hide = true)]
    Manual(ManualOptions),
    /// Print the reference of configuration files in Markdown.
    #[command(hide = true)]
    Reference,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Run {
    /// The configuration.
    #[arg(long, value_name = "FILE")]
    pub(super) config: PathBuf,
    /// The least severe level to log: off, error, warn, info, debug or trace, also for single modules as MODULE=LEVEL.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(super) log: tracing_subscriber::filter::Targets,
    /// Log one JSON object a line.
    #[arg(long)]
    pub(super) json_log: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Check {
    /// The configuration.
    #[arg(long, value_name = "FILE")]
    pub(super) config: PathBuf,
    /// Check only the file and the keys, not this machine: for a file that another machine will use.
    #[arg(long)]
    pub(super) file_only: bool,
    /// Print what was found as JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Keygen {
    /// The folder to write to; it is made if there is none.
    #[arg(long, value_name = "DIR")]
    pub(super) out: PathBuf,
    /// Use the authority in this folder instead of a new one.
    #[arg(long, value_name = "DIR")]
    pub(super) authority: Option<PathBuf>,
    /// The validity of the certificates of gateways; a new authority is valid for ten years.
    #[arg(long, value_name = "DAYS", default_value_t = 825, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub(super) days: u32,
    /// The names of the gateways, as in their configurations.
    #[arg(required = true, value_name = "NAME")]
    pub(super) names: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(super) enum RulesCommand {
    /// Print the rules as a script for a shell.
    Print(RulesOptions),
    /// Set the rules; safe to repeat.
    Apply(RulesOptions),
    /// Remove the rules; safe to repeat.
    Remove(RulesOptions),
}

#[derive(Debug, ClapArgs)]
pub(super) struct RulesOptions {
    /// The configuration.
    #[arg(long, value_name = "FILE")]
    pub(super) config: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(super) struct ManualOptions {
    /// The folder to write to; it is made if there is none.
    #[arg(long, value_name = "DIR")]
    pub(super) out: PathBuf,
}

/// A gateway that runs, by its control socket.
#[derive(Debug, ClapArgs)]
pub(super) struct Running {
    /// The socket of the gateway.
    #[arg(long, value_name = "PATH", default_value = "/run/cellway-gateway/control.sock")]
    pub(super) socket: PathBuf,
    /// Use the socket of this configuration.
    #[arg(long, value_name = "FILE", conflicts_with = "socket")]
    pub(super) config: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Upgrade {
    #[command(flatten)]
    pub(super) running: Running,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Drain {
    #[command(flatten)]
    pub(super) running: Running,
    /// Reset the connections that are left after this time, as "5 min".
    #[arg(long, value_name = "TIME")]
    pub(super) within: Option<cellway_units::Span>,
    /// Do not wait until the gateway has ended.
    #[arg(long)]
    pub(super) no_wait: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct Status {
    #[command(flatten)]
    pub(super) running: Running,
    /// Print it as JSON.
    #[arg(long)]
    pub(super) json: bool,
    /// Also list the connections.
    #[arg(long)]
    pub(super) connections: bool,
    /// Repeat it every second, until Ctrl-C.
    #[arg(long)]
    pub(super) watch: bool,
}
